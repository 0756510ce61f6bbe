"""Checks a connection step by step: address, name, network, authorization, session, tools, changed schemas.

The first failing step says what to do; later steps stay unknown. Like a refresh, it stores the server's
tools.
"""

import asyncio
import os
import socket
import ssl
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import frappe
from frappe import _

from huf.ai.core.documents import get_permitted
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.mcp.client import connections, session, store
from huf.ai.mcp.client.oauth import SignInNeeded
from huf.ai.mcp.client.session import ServerTarget
from huf.ai.tools.http import is_public

HTTP_STEPS = ("address", "dns", "network", "authorize", "initialize", "tools", "changes")
COMMAND_STEPS = ("address", "initialize", "tools", "changes")
TIMEOUT_S = 10
"""For resolving the name, and again for connecting."""
REFUSED_STATUSES = (401, 403)
NO_SERVER_STATUSES = (404, 405)
"""405 is what the addresses of the older transport HTTP+SSE answer."""


class Failure(Exception):
	def __init__(self, step: str, message: str):
		super().__init__(message)
		self.step, self.message = step, message


def run_connection_check(name: str) -> dict[str, Any]:
	"""{ok, steps: [{step, ok, message}]}; `ok` is None for steps that were not reached. Commits.

	Raises PermissionError if the user may not change the connection.
	"""
	doc = get_permitted(connections.CONNECTION, name, "write")
	frappe.db.commit()
	steps = HTTP_STEPS if doc.transport == "HTTP" else COMMAND_STEPS
	messages: dict[str, str] = {}
	try:
		take_steps(doc, messages)
	except Failure as failure:
		done = steps[: steps.index(failure.step)]
		rows = [build_step(step, step in done or None, messages) for step in steps]
		rows[len(done)] = {"step": failure.step, "ok": False, "message": failure.message}
		return {"ok": False, "steps": rows}
	return {"ok": True, "steps": [build_step(step, True, messages) for step in steps]}


def build_step(step: str, ok: bool | None, messages: dict[str, str]) -> dict[str, Any]:
	return {"step": step, "ok": ok, "message": messages.get(step, "")}


def take_steps(doc: Any, messages: dict[str, str]) -> None:
	"""Take the steps in order and store their results in `messages`. Raises Failure."""
	if doc.disabled:
		raise Failure("address", _("The connection is disabled. Enable it to use its tools."))
	try:
		target = connections.make_target(doc)
	except UsageError as error:
		raise Failure("address", str(error)) from None
	messages["address"] = target.url or doc.command
	if target.url:
		addresses = run_coroutine(resolve_host(target))
		messages["dns"] = ", ".join(addresses[:4])
		messages["network"] = run_coroutine(try_connection(target, addresses[0]))
	offer = sign_in_and_list(doc, target)
	messages["initialize"] = connections.store_offer(doc.name, offer)
	messages["tools"] = describe_offer(offer)
	check_changes(doc.name)


async def resolve_host(target: ServerTarget) -> list[str]:
	parts = urlsplit(target.url)
	try:
		found = await asyncio.wait_for(
			asyncio.get_running_loop().getaddrinfo(parts.hostname, None, type=socket.SOCK_STREAM), TIMEOUT_S
		)
	except (OSError, UnicodeError, asyncio.TimeoutError):
		raise Failure(
			"dns", _("The name {0} is not known. Check the URL, or this server's DNS.").format(parts.hostname)
		) from None
	addresses = list(dict.fromkeys(str(row[4][0]) for row in found))
	if not target.allow_private and (private := [each for each in addresses if not is_public(each)]):
		raise Failure(
			"dns",
			_("{0} is a private address. If it is a server of your own network, tick {1}.").format(
				private[0], _("Allow Private Addresses")
			),
		)
	return addresses


async def try_connection(target: ServerTarget, address: str) -> str:
	"""Open and close a connection; returns the TLS version, or "Not encrypted"."""
	parts = urlsplit(target.url)
	context = ssl.create_default_context() if parts.scheme == "https" else None
	name = parts.hostname if context else None
	opened = asyncio.open_connection(
		address, parts.port or (443 if context else 80), ssl=context, server_hostname=name
	)
	try:
		_reader, writer = await asyncio.wait_for(opened, TIMEOUT_S)
	except ssl.SSLError as error:
		reason = getattr(error, "verify_message", "") or error.reason or str(error)
		raise Failure(
			"network",
			_("No secure connection: {0}. The server needs a valid certificate for this name.").format(
				reason
			),
		) from None
	except (OSError, asyncio.TimeoutError) as error:
		# asyncio's own message repeats the address, with the number of the error.
		number = getattr(error, "errno", None)
		reason = os.strerror(number) if number else str(error)
		raise Failure(
			"network",
			_("{0} does not accept connections: {1}. Check the port, the firewall and that it runs.").format(
				parts.netloc, reason or _("no answer in {0} seconds").format(TIMEOUT_S)
			),
		) from None
	protocol = writer.get_extra_info("ssl_object")
	writer.close()
	return protocol.version() if protocol else _("Not encrypted")


def sign_in_and_list(doc: Any, target: ServerTarget) -> session.Offer:
	"""Sign in and list the tools; a failure is attributed to the step after the last completed one."""
	statuses: list[int] = []
	reached: list[str] = []
	try:
		return run_coroutine(session.read_offer(replace(target, statuses=statuses), reached.append))
	except SignInNeeded:
		message = _("Nobody has signed in, or the sign-in has expired. Choose {0}.").format(_("Sign In"))
		failure = Failure("authorize", message)
	except (ToolError, UsageError) as error:
		failure = explain_failure(doc, str(error), reached, statuses)
	store.write_state(doc.name, state="Failed", error=failure.message[:1000])
	frappe.db.commit()
	raise failure


def explain_failure(doc: Any, reason: str, reached: list[str], statuses: list[int]) -> Failure:
	if reached:
		return Failure("tools", _("The tools could not be listed: {0}").format(reason))
	if statuses and statuses[-1] in REFUSED_STATUSES:
		message = _("The server refuses the credentials with status {0}. Check {1}: it is {2}.")
		return Failure("authorize", message.format(statuses[-1], _("Authentication"), _(doc.auth or "None")))
	if statuses and statuses[-1] in NO_SERVER_STATUSES:
		message = _("There is no MCP server at this path (status {0}). Check the end of the URL.")
		return Failure("initialize", message.format(statuses[-1]))
	return Failure("initialize", _("The server does not answer as an MCP server: {0}").format(reason))


def describe_offer(offer: session.Offer) -> str:
	if not offer.tools:
		raise Failure(
			"tools",
			_("The server lists 0 tools that can be used. {0}").format(" ".join(offer.faults)).strip(),
		)
	return " ".join([_("Tools: {0}").format(len(offer.tools)), *offer.faults])


def check_changes(name: str) -> None:
	held = [row.tool_name for row in frappe.get_doc(connections.CONNECTION, name).tools if is_held_back(row)]
	if held:
		message = _(
			"Held back because the server describes them differently: {0}. Look at each change and accept it."
		)
		raise Failure("changes", message.format(", ".join(held)))


def is_held_back(row: Any) -> bool:
	return bool(row.chosen) and row.status in ("Changed", "Gone")
