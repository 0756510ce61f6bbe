"""Huf's MCP client as a program, for the client scenarios of `@modelcontextprotocol/conformance`.

	conformance client --command "python -m huf.tests.mcp_conformance_client" --requirements 2026-07-28

Lists the server's tools and calls each as an agent would, with a grant in memory. Where a user would have to
sign in, it follows the authorization server's redirect as a browser would.
"""

import asyncio
import json
import os
import sys
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from huf.ai.core.errors import ToolError, UsageError
from huf.ai.mcp.client import session, session_pool
from huf.ai.mcp.client.http_transport import GuardedTransport
from huf.ai.mcp.client.oauth import OAuthClient, SignInNeeded, SignInProvider, exchange_code, make_provider
from huf.ai.mcp.client.session import ServerTarget

REDIRECT = "http://localhost:3000/callback"
METADATA = "https://conformance-test.local/client-metadata.json"
SAMPLES = {"string": "x", "number": 3, "integer": 3, "boolean": True, "array": [], "object": {}, "null": None}
MAX_SIGN_INS = 3


class MemoryVault:
	def __init__(self):
		self.grant = {}

	def read(self) -> dict:
		return dict(self.grant)

	def write(self, grant: dict) -> None:
		self.grant = grant

	def claim_refresh(self, refresh_token: str) -> bool:
		return True


class NoRedirect(HTTPRedirectHandler):
	def redirect_request(self, request, response, code, message, headers, url):
		raise Redirected(url)


class Redirected(Exception):
	pass


def follow_as_browser(url: str) -> dict:
	"""The parameters of the authorization server's redirect back to the client."""
	try:
		build_opener(NoRedirect).open(url, timeout=10)
	except Redirected as redirected:
		return {key: values[0] for key, values in parse_qs(urlsplit(str(redirected)).query).items()}
	raise AssertionError("the authorization server did not redirect")


class Client:
	def __init__(self, url: str, scenario: str, context: dict):
		self.vault, self.scenario = MemoryVault(), scenario
		self.oauth = OAuthClient(
			url,
			redirect_uri=REDIRECT,
			client_id=context.get("client_id"),
			client_secret=context.get("client_secret"),
			issuer=context.get("issuer"),
			metadata_url=METADATA,
		)
		self.target = ServerTarget(scenario or "conformance", url=url, allow_private=True, timeout_s=20)

	def make_target(self) -> ServerTarget:
		if not self.scenario.startswith("auth/"):
			return self.target
		is_credentials = "client-credentials" in self.scenario
		auth = make_provider(self.oauth, self.vault, is_credentials)
		if isinstance(auth, SignInProvider):
			auth.is_sign_in = True
		return replace(self.target, auth=auth)

	async def signed_in(self, work):
		for _ in range(MAX_SIGN_INS):
			try:
				return await work(self.make_target())
			except SignInNeeded as needed:
				answer = follow_as_browser(needed.url)
				provider = SignInProvider(self.oauth, self.vault)
				await exchange_code(
					provider,
					lambda: GuardedTransport(True, 2_000_000, 20),
					answer.get("code", ""),
					answer.get("state", ""),
					answer.get("iss"),
				)
		raise ToolError("The server asks for a sign-in again and again.")

	async def run(self, calls: list[dict]) -> None:
		offer = await self.signed_in(session.read_offer)
		wanted = calls or [
			{"name": tool.name, "arguments": sample(tool.input_schema)} for tool in offer.tools
		]
		known = {tool.name: tool for tool in offer.tools}
		for call in wanted:
			if tool := known.get(call["name"]):
				await self.call(tool, call["arguments"])

	async def call(self, tool, arguments: dict) -> None:
		try:
			result = await self.signed_in(
				lambda target: session_pool.call_pooled(target, tool, arguments, "suite")
			)
			print(tool.name, json.dumps(result)[:200])
		except ToolError as error:
			print(tool.name, "failed:", error)


def sample(schema: dict) -> dict:
	return {
		name: SAMPLES.get(each.get("type"), "x")
		for name, each in schema.get("properties", {}).items()
		if name in schema.get("required", ())
	}


def run_scenario(url: str, scenario: str, context: dict) -> str:
	"""Run a scenario; returns the error, or an empty string."""
	try:
		asyncio.run(Client(url, scenario, context).run(context.get("toolCalls", [])))
	except (ToolError, UsageError) as error:
		return f"{type(error).__name__}: {error}"
	return ""


if __name__ == "__main__":
	context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
	sys.exit(run_scenario(sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), context) or None)
