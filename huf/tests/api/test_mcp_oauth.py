"""OAuth sign-in of MCP clients: the MCP SDK's client against the site; the test plays the user's browser."""

import asyncio
import base64
import hashlib
import json
import re
import threading
import unittest
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

import frappe
import httpx2
import requests
from frappe.utils import add_to_date, now_datetime
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from huf.ai.mcp.server import client_documents, grants
from huf.tests.api.test_mcp import REVISION, McpTestCase
from huf.tests.base import enter
from huf.tests.factories import make, unique
from huf.tests.http import send
from huf.tests.mcp_fixture.server import SERVED_URL, serve_site

OLDER_REVISIONS = ("2025-06-18", "2025-11-25")
PASSWORD = "A long one for 2 tests!"
RETURN = "http://127.0.0.1:9/callback"


class Storage:
	def __init__(self):
		self.tokens = self.client = None

	async def get_tokens(self):
		return self.tokens

	async def set_tokens(self, tokens):
		self.tokens = tokens

	async def get_client_info(self):
		return self.client

	async def set_client_info(self, client_info):
		self.client = client_info


def sign_in(base: str, user: str, password: str) -> requests.Session:
	"""A browser session of a signed-in user."""
	browser = requests.Session()
	browser.post(f"{base}/api/method/login", {"usr": user, "pwd": password}).raise_for_status()
	return browser


def decide(browser: requests.Session, address: str, decision: str) -> str:
	"""Submit the consent page; returns the redirect address, or the page if there is none."""
	page = browser.get(address)
	fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', page.text))
	form = {name: unescape(value) for name, value in fields.items()} | {"decision": decision}
	answer = browser.post(page.url, form, allow_redirects=False)
	return answer.headers.get("Location", answer.text)


class OAuthTestCase(McpTestCase):
	def setUp(self):
		super().setUp()
		doc = frappe.get_doc("User", self.user)
		doc.new_password = PASSWORD
		doc.save()
		frappe.db.commit()
		self.base = enter(self, serve_site())
		self.url = f"{self.base}/mcp/{self.slug}"
		self.storage = Storage()

	def sign_in(self) -> requests.Session:
		return sign_in(self.base, self.user, PASSWORD)

	def decide(self, address: str, decision: str, shown: str = "Inspector &lt;b&gt;") -> dict:
		"""The query parameters that the redirect after the decision returns to the client."""
		location = self.answer(address, decision, shown)
		self.assertTrue(location.startswith(RETURN), location)
		return {key: value[0] for key, value in parse_qs(urlsplit(location).query).items()}

	def answer(self, address: str, decision: str, shown: str) -> str:
		"""The address to which the browser is redirected after the decision."""
		browser = self.sign_in()
		self.assertIn(shown, browser.get(address).text)
		return decide(browser, address, decision)

	def use(self, work, revision: str | None = None, auth=None, **options):
		"""Run `work(client)` with a client of this revision, which uses `auth` or the user's API key."""

		async def run():
			mode = "auto" if revision is None else revision if revision == REVISION else "legacy"
			headers = {} if auth else self.headers
			async with httpx2.AsyncClient(auth=auth, headers=headers, timeout=30) as http:
				transport = streamable_http_client(self.url, http_client=http)
				async with Client(transport, mode=mode, **options) as client:
					self.assertIn(revision, (None, client.protocol_version))
					return await work(client)

		with patch("mcp.client.session.LATEST_HANDSHAKE_VERSION", revision or OLDER_REVISIONS[-1]):
			return asyncio.run(run())

	def make_auth(self, decision: str = "allow") -> OAuthClientProvider:
		"""An OAuth provider for the client; the consent page is answered with `decision`."""
		found = {}

		async def open_browser(address):
			found.update(await asyncio.to_thread(self.decide, address, decision))

		async def receive_code():
			return AuthorizationCodeResult(
				code=found.get("code", ""), state=found.get("state"), iss=found.get("iss")
			)

		metadata = OAuthClientMetadata(client_name="Inspector <b>", redirect_uris=[RETURN])
		return OAuthClientProvider(self.url, metadata, self.storage, open_browser, receive_code)

	def list_tools(self):
		async def work(client):
			return [tool.name for tool in (await client.list_tools()).tools]

		return self.use(work, auth=self.make_auth())

	def post_with(self, token: str, path: str | None = None) -> int:
		body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
		headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
		return requests.post(self.base + path if path else self.url, json=body, headers=headers).status_code


class TestOAuth(OAuthTestCase):
	def test_client_of_each_revision_signs_in_and_calls_tools(self):
		for revision in (*OLDER_REVISIONS, REVISION):
			with self.subTest(revision):
				description, self.storage = unique("By OAuth"), Storage()

				async def work(client, description=description):
					names = [tool.name for tool in (await client.list_tools()).tools]
					values = {"description": description, "allocated_to": self.user}
					return names, await client.call_tool(self.create, values)

				names, called = self.use(work, revision, self.make_auth())
				self.assertIn(self.create, names)
				self.assertFalse(called.is_error)
				frappe.db.rollback()
				owner = frappe.db.get_value("ToDo", {"description": description}, "owner")
				self.assertEqual(owner, self.user)

	def test_token_works_only_for_its_server_until_the_grant_is_deleted(self):
		self.list_tools()
		token = self.storage.tokens.access_token
		other = self.make_server(self.todo_agent, (self.read,))
		self.assertEqual(self.post_with(token), 200)
		self.assertEqual(self.post_with(token, f"/mcp/{other}"), 401)
		self.assertEqual(self.post_with(token, "/api/method/frappe.auth.get_logged_user"), 401)
		self.assertEqual(self.post_with(f"{token}x"), 401)
		frappe.set_user(self.user)
		(grant,) = frappe.get_list(grants.GRANT, pluck="name", order_by="name asc")
		frappe.delete_doc(grants.GRANT, grant)
		frappe.db.commit()
		self.assertEqual(self.post_with(token), 401)

	def test_cmd_argument_is_not_executed_with_a_token(self):
		self.list_tools()
		headers = {"Authorization": f"Bearer {self.storage.tokens.access_token}"}
		command = {"cmd": "frappe.auth.get_logged_user"}
		for path in ("/mcp", f"/mcp/{self.slug}", "/api/method/huf.api.mcp.serve"):
			for sent in ({"params": command}, {"data": command}, {"json": command}):
				with self.subTest(path, sent=list(sent)):
					answer = requests.post(self.base + path, headers=headers, **sent)
					self.assertGreaterEqual(answer.status_code, 400)
					self.assertNotIn(self.user, answer.text)

	def test_reused_refresh_token_revokes_the_grant(self):
		self.list_tools()
		first = self.storage.tokens

		def refresh(token):
			form = {
				"grant_type": "refresh_token",
				"refresh_token": token,
				"client_id": self.storage.client.client_id,
			}
			if self.storage.client.client_secret:
				form["client_secret"] = self.storage.client.client_secret
			return requests.post(f"{self.base}/mcp-oauth/token", form)

		second = refresh(first.refresh_token)
		self.assertEqual(second.status_code, 200, second.text)
		self.assertEqual(self.post_with(second.json()["access_token"]), 200)
		self.assertEqual(refresh(first.refresh_token).status_code, 400)
		self.assertEqual(self.post_with(second.json()["access_token"]), 401)

	def test_denied_consent_issues_no_token(self):
		with self.assertRaises(Exception):  # noqa: B017 (an exception group of the SDK)
			self.use(lambda client: client.list_tools(), auth=self.make_auth("deny"))
		self.assertIsNone(self.storage.tokens)

	def test_token_of_a_disabled_user_is_refused(self):
		self.list_tools()
		frappe.set_user("Administrator")
		frappe.get_doc("User", self.user).update({"enabled": 0}).save()
		frappe.db.commit()
		self.assertEqual(self.post_with(self.storage.tokens.access_token), 401)

	def test_frappe_oauth_bearer_token_is_accepted_on_a_bench(self):
		if not frappe.db.exists("DocType", "OAuth Bearer Token"):
			self.skipTest("The embedded runtime has no provider of its own.")
		uri = {"redirect_uris": RETURN, "default_redirect_uri": RETURN}
		client = make("OAuth Client", app_name=unique("Program"), scopes="all openid", **uri)
		token = frappe.generate_hash(length=30)
		values = {"client": client.name, "user": self.user, "scopes": "all openid", "access_token": token}
		end = add_to_date(now_datetime(), hours=1)
		make("OAuth Bearer Token", refresh_token=f"{token}r", expires_in=3600, expiration_time=end, **values)
		frappe.db.commit()
		self.assertEqual([self.post_with(each) for each in (token, f"{token}x")], [200, 401])

	def test_reused_authorization_code_deletes_its_grant_and_stays_invalid(self):
		made = [grants.insert_grant(self.slug, self.user, "client", "A client", self.url) for _ in range(4)]
		self.assertEqual(made[1:], [None] * 3)
		self.assertFalse(frappe.db.exists(grants.GRANT, made[0]))

	def test_registration_replaces_client_secret_basic_by_client_secret_post(self):
		values = {"redirect_uris": [RETURN], "token_endpoint_auth_method": "client_secret_basic"}
		answer = requests.post(f"{self.base}/mcp-oauth/register", json=values).json()
		self.assertEqual(answer["token_endpoint_auth_method"], "client_secret_post")
		self.assertTrue(answer["client_secret"])

	def test_refused_authorization_request_names_the_issuer(self):
		values = {"redirect_uris": [RETURN], "token_endpoint_auth_method": "none"}
		client = requests.post(f"{self.base}/mcp-oauth/register", json=values).json()["client_id"]
		asked = {"client_id": client, "redirect_uri": RETURN, "response_type": "code", "state": "s"}
		address = f"{self.base}/mcp-oauth/authorize"
		answer = requests.get(address, asked, allow_redirects=False).headers["Location"]
		given = parse_qs(urlsplit(answer).query)
		found = [given[name][0] for name in ("error", "state", "iss")]
		self.assertEqual(found, ["invalid_request", "s", f"{self.base}/mcp-oauth"])

	def test_unauthenticated_request_leads_to_the_oauth_metadata(self):
		answer = requests.post(self.url, json={})
		self.assertEqual(answer.status_code, 401)
		address = re.search(r'resource_metadata="([^"]+)"', answer.headers["WWW-Authenticate"])[1]
		self.assertEqual(address, f"{self.base}/.well-known/oauth-protected-resource/mcp/{self.slug}")
		metadata = requests.get(address).json()
		self.assertEqual(metadata["resource"], self.url)
		(issuer,) = metadata["authorization_servers"]
		server = requests.get(f"{self.base}/.well-known/oauth-authorization-server/mcp-oauth").json()
		self.assertEqual((server["issuer"], server["code_challenge_methods_supported"]), (issuer, ["S256"]))
		self.assertTrue(server["authorization_response_iss_parameter_supported"])
		appended = requests.get(f"{issuer}/.well-known/oauth-authorization-server")
		self.assertEqual(appended.json(), server)

	def test_registration_with_an_unsafe_redirect_uri_is_refused(self):
		for uri in (
			"http://evil.example/x",
			"javascript:alert(1)//x",
			"https://a.example/b#c",
			"https://a.example@evil.example/b",
		):
			answer = requests.post(f"{self.base}/mcp-oauth/register", json={"redirect_uris": [uri]})
			self.assertEqual((answer.status_code, answer.json()["error"]), (400, "invalid_redirect_uri"), uri)


class Documents(BaseHTTPRequestHandler):
	"""Serves Client ID Metadata Documents: {path: (status, document or redirect address)}."""

	def do_GET(self):
		self.server.requested.append(self.path)
		status, document = self.server.documents[self.path]
		body = document if isinstance(document, bytes) else json.dumps(document).encode()
		self.send_response(status)
		self.send_header(
			"Location" if status == 302 else "Content-Type", document if status == 302 else "application/json"
		)
		self.send_header("Content-Length", str(len(body)))
		self.end_headers()
		self.wfile.write(body)

	def log_message(self, *args):
		pass


class TestClientDocuments(OAuthTestCase):
	"""Client ID Metadata Documents: the client id is the URL of a document that describes the client."""

	def setUp(self):
		super().setUp()
		self.host = ThreadingHTTPServer(("127.0.0.1", 0), Documents)
		self.host.documents, self.host.requested = {}, []
		threading.Thread(target=self.host.serve_forever, args=(0.02,), daemon=True).start()
		self.addCleanup(self.host.server_close)
		self.addCleanup(self.host.shutdown)
		self.address = f"http://127.0.0.1:{self.host.server_port}/{frappe.generate_hash(length=8)}"
		self.verifier = "v" * 60

	def publish(self, status: int = 200, **values) -> None:
		document = {"client_id": self.address, "client_name": "Cloud", "redirect_uris": [RETURN], **values}
		self.host.documents[urlsplit(self.address).path] = (status, values.get("Location", document))

	def authorize(self, client_id: str | None = None, redirect_uri: str = RETURN) -> requests.Response:
		"""The authorization request with which the client opens the user's browser."""
		digest = hashlib.sha256(self.verifier.encode()).digest()
		query = {
			"response_type": "code",
			"client_id": client_id or self.address,
			"redirect_uri": redirect_uri,
			"code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
			"code_challenge_method": "S256",
			"resource": self.url,
			"state": "s",
			"scope": "mcp",
		}
		return requests.get(f"{self.base}/mcp-oauth/authorize", query, allow_redirects=False)

	def test_client_document_replaces_registration_and_is_fetched_once(self):
		self.publish()
		shown = f"Cloud (127.0.0.1:{self.host.server_port})"
		found = self.decide(self.authorize().headers["Location"], "allow", shown)
		form = {
			"grant_type": "authorization_code",
			"code": found["code"],
			"redirect_uri": RETURN,
			"client_id": self.address,
			"code_verifier": self.verifier,
		}
		answer = requests.post(f"{self.base}/mcp-oauth/token", form)
		self.assertEqual(answer.status_code, 200, answer.text)
		self.assertEqual(self.post_with(answer.json()["access_token"]), 200)
		self.assertEqual(len(self.host.requested), 1)

	def test_client_name_is_sanitized_and_truncated(self):
		self.publish(client_name="Cloud\n\u202ereal" + "x" * 200)
		page = self.sign_in().get(self.authorize().headers["Location"]).text
		self.assertIn(f"Cloud real{'x' * 70} (127.0.0.1", page)

	def test_loopback_redirect_uri_matches_any_port_but_no_other_host_or_path(self):
		self.publish(redirect_uris=["http://127.0.0.1/callback"])
		self.assertEqual(self.authorize(redirect_uri="http://127.0.0.1:5/callback").status_code, 302)
		for other in (
			"http://127.0.0.1:5/other",
			"https://evil.example/callback",
			"http://evil.example:5/callback",
		):
			self.assertEqual(self.authorize(redirect_uri=other).status_code, 400, other)

	def test_invalid_client_documents_are_refused(self):
		invalid = [
			{"client_id": "https://other.example/client"},
			{"client_secret": "known to all"},
			{"token_endpoint_auth_method": "client_secret_post"},
			{"redirect_uris": ["javascript:alert(1)//"]},
			{"redirect_uris": []},
			{"filler": "x" * 20_000},
			{"status": 404},
			{"status": 302, "Location": f"{self.base}/"},
		]
		for values in invalid:
			with self.subTest(str(values)[:60]):
				self.address = f"{self.address}x"
				self.publish(**values)
				self.assertEqual(self.authorize().status_code, 400)
		self.assertEqual(len(self.host.requested), len(invalid))

	def test_documents_nested_too_deeply_are_refused(self):
		for depth in (400, 900, 980, 4000):
			self.address = f"{self.address}x"
			deep = "[" * depth + "]" * depth
			document = json.dumps({"client_id": self.address, "redirect_uris": 0}).replace("0}", f"{deep}}}")
			self.host.documents[urlsplit(self.address).path] = (200, document.encode())
			answer = self.authorize()
			self.assertEqual((answer.status_code, answer.json()["error"]), (400, "invalid_request"), depth)

	def test_client_documents_on_private_hosts_are_not_fetched(self):
		for address in ("https://169.254.169.254/client", "http://192.168.0.1/client", f"{self.address}#x"):
			self.assertEqual(self.authorize(address).status_code, 400, address)
		self.publish()
		with patch.dict(frappe.local.conf, {"host_name": "https://erp.example"}):
			self.assertFalse(client_documents.is_document_address(self.address))
			self.assertIsNone(asyncio.run(client_documents.fetch_document(self.address)))
		path = f"/mcp-oauth/authorize?client_id={self.address}"
		for options in (
			{"environ_overrides": {"REMOTE_ADDR": "192.0.2.1"}},
			{"headers": {"X-Forwarded-For": "::1"}},
		):
			self.assertEqual(send(path, base_url="http://localhost", **options).status_code, 400)
		self.assertEqual(self.host.requested, [])

	@unittest.skipIf(SERVED_URL, "the limit is that of another process")
	def test_fetches_of_client_documents_are_rate_limited(self):
		with patch.object(client_documents, "MAX_FETCHES_PER_MINUTE", 0):
			self.publish()
			self.assertEqual(self.authorize().status_code, 400)
		self.assertEqual(self.host.requested, [])
