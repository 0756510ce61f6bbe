"""Decides whether a call of the current run needs a person because of untrusted content (see `core/flow.py`).

For Huf's own tool types it knows which fields and DocTypes matter; other tools declare it.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import frappe
from frappe import _

from huf.ai.core.contacts import (
	GATEWAY_TYPES,
	MAX_FOLLOWED_LINKS,
	TOOLS_WITH_FIXED_DESTINATION,
	TYPES_WITHOUT_DESTINATION,
	URL_ARGUMENTS,
	is_allowed_address,
	is_allowed_host,
	is_plain_link,
	list_urls,
	parse_host,
	record_contact,
)
from huf.ai.core.errors import ToolError
from huf.ai.core.flow import (
	MAX_DISPLAYED_CHARS,
	MAX_VALUES,
	Caution,
	Concern,
	TextsByAuthor,
	ToolPolicy,
	UnnamedValue,
	find_concern,
	list_values,
)
from huf.ai.core.json_text import map_values
from huf.ai.core.settings import get_settings
from huf.ai.core.stored_text import clip_line
from huf.ai.core.types import Effect
from huf.ai.tools.messages import MAX_RECIPIENTS, find_stranger, list_recipients
from huf.ai.tools.sensitive_fields import is_protected, is_sensitive_name, list_sensitive_fields
from huf.ai.tools.taint import CALLS, find_origins, read_evidence
from huf.ai.tools.types import CODE_TYPES, HTTP_TYPES, MCP_TOOL, NO_PARAMETERS, NOTIFY, REMEMBER, SEND_MAIL

DESTRUCTIVE_TYPES = (
	"Delete Document",
	"Delete Multiple Documents",
	"Submit Document",
	"Cancel Document",
)
CREATING_TYPES = ("Create Document", "Create Multiple Documents")
REDIRECTED = "{} redirects to {}, not one of the Allowed Hosts. Call that address itself: a person decides."
HOST_ENTRY = re.compile(r"(?:[^\s@,;]*@|\*\.)?[\w-]+(?:\.[\w-]+)*|(?=[^:]*:[^:]*:)[0-9a-f:.]+", re.IGNORECASE)
"""A host, mail domain or address; an address names a recipient."""
MENTION = re.compile(r"class=.{0,3}mention|data-id=|(?<!\w)@\w")


def find_call_concern(row, agent, arguments: dict) -> Concern | None:
	"""Why a call of the current run needs a person; None if it may be made. `row`: the tool's record."""
	run = frappe.flags.huf_run
	if row.effect == Effect.READ.value or is_exempt(row):
		return None
	origins, is_message = find_origins(run), row.types in (SEND_MAIL, NOTIFY)
	if not (origins or is_message) or (caution := find_caution(agent, origins)) is Caution.OFF:
		return None
	hosts = list_allowed_hosts(agent)
	if is_message and (concern := find_recipient_concern(arguments, hosts)):
		return concern
	if not origins:
		return None
	evidence = read_evidence(run, " ".join(hosts))
	if is_link_tool(row) and is_known_destination(row, arguments, hosts, evidence):
		return find_decided(arguments, evidence)
	judged = drop_allowed(name_values(row, arguments), hosts)
	return find_concern(build_policy(row, arguments), judged, evidence, caution)


def find_recipient_concern(arguments: Mapping[str, Any], hosts: list[str]) -> Concern | None:
	"""Why a message needs a person, whatever was read: a stranger's record turns a name into an address."""
	names = list_recipients(arguments.get("to") or ())[:MAX_RECIPIENTS]
	found = {name: find_stranger(name) for name in names}
	values = tuple(
		UnnamedValue("to", f"{name} <{stranger[0]}>", stranger[1])
		for name, stranger in found.items()
		if stranger and not is_allowed_address(stranger[0], hosts)
	)
	return Concern(tuple(dict.fromkeys(str(each.origin) for each in values)), values) if values else None


def find_decided(arguments: Mapping[str, Any], evidence: TextsByAuthor) -> Concern | None:
	"""Why a call to a known destination needs a person: untrusted content determined a recipient or an
	amount.
	"""
	sent = {name: value for name, value in arguments.items() if name not in URL_ARGUMENTS}
	values = [each for each in list_values(sent) if any(map(is_sensitive_name, each[0]))]
	decided = tuple(
		UnnamedValue(".".join(path), clip_line(value, MAX_DISPLAYED_CHARS), origin)
		for path, value in values[:MAX_VALUES]
		if not evidence.is_named(value) and (origin := evidence.find_origin(value))
	)
	return Concern(evidence.origins, decided) if decided or len(values) > MAX_VALUES else None


def make_redirect_check(base_url: str | None = None) -> Callable[[str], Awaitable[None]]:
	"""A `before_each` of `http.send_request` that calls `check_redirect`."""
	urls: list[str] = []

	async def check(url: str) -> None:
		urls.append(url)
		check_redirect(urls[0], url, base_url)

	return check


def check_redirect(start: str, target: str, base_url: str | None = None) -> None:
	"""Raises ToolError if an allowed host redirects to a host that was neither allowed nor named.

	Applies once a run has read untrusted content, which the URL may leak.
	"""
	run, hosts_between = frappe.flags.huf_run, (parse_host(start), parse_host(target))
	if hosts_between[0] == hosts_between[1] or not (origins := find_origins(run)):
		return
	agent = frappe.get_cached_doc("Agent", frappe.db.get_value("Agent Run", run, "agent"))
	hosts = [*list_allowed_hosts(agent), parse_host(base_url or "")]
	is_leaving = is_allowed_host(hosts_between[0], hosts) and not is_allowed_host(hosts_between[1], hosts)
	if not is_leaving or find_caution(agent, origins) is Caution.OFF:
		return
	if not read_evidence(run).named.names(start):
		record_contact("http", hosts_between[1], refused=True)
		raise ToolError(REDIRECTED.format(*hosts_between))


def list_allowed_hosts(agent) -> list[str]:
	"""Hosts, mail domains and MCP servers that the agent and the site allow."""
	return f"{(agent and agent.allowed_hosts) or ''}\n{get_settings().allowed_hosts}".split()


def check_allowed_hosts(doc) -> None:
	"""Throw for an entry that is no host, mail domain or address, such as a URL or a list with commas."""
	entries = (doc.allowed_hosts or "").split() if doc.has_value_changed("allowed_hosts") else []
	for entry in entries:
		if not HOST_ENTRY.fullmatch(entry):
			message = _("{0} is not an Allowed Host. Write api.example.com, *.example.com or @example.com.")
			frappe.throw(message.format(entry))


def is_exempt(row) -> bool:
	"""Whether a tool's destination is fixed, or checked elsewhere."""
	offered = row.function_path if row.types == "App Provided" else None
	is_fixed = row.types == "App Provided" and (offered or row.tool_name) in TOOLS_WITH_FIXED_DESTINATION
	return is_fixed or row.types in TYPES_WITHOUT_DESTINATION


def find_caution(agent, origins: tuple[str, ...]) -> Caution:
	"""The agent's setting; if blank, Strict for mail and Standard otherwise."""
	if agent and agent.get("caution"):
		return Caution(agent.caution)
	return Caution.STRICT if "mail" in origins else Caution.STANDARD


def is_link_tool(row) -> bool:
	"""Whether only the destination matters: tools that open links, and gateways whose calls are not
	declared.
	"""
	if row.types in GATEWAY_TYPES:
		return not (row.sensitive_parameters or row.destructive)
	return row.types in HTTP_TYPES or (
		row.types == "App Provided" and "open_url" in (row.function_path, row.tool_name)
	)


def is_known_destination(
	row, arguments: Mapping[str, Any], hosts: list[str], evidence: TextsByAuthor
) -> bool:
	"""Whether all links go to hosts of the agent or the tool, or were named, or found by a web search."""
	urls, own_host = list_urls(arguments), parse_host(row.base_url or "")
	reached = [parse_host(url, row.base_url) for url in urls]
	if row.types in GATEWAY_TYPES:
		return all(is_allowed_host(host, hosts) for host in [own_host, *reached])
	if not urls:
		return bool(own_host)
	if all(is_allowed_host(host, [*hosts, own_host]) for host in reached):
		return True
	if row.types == "POST" or not is_plain_link(arguments):
		return False
	return all(map(evidence.named.names, urls)) or is_search_result(row, urls)


def is_search_result(row, urls: list[str]) -> bool:
	"""Whether the site's web search has found the links, and few of them were opened."""
	conversation = frappe.db.get_value("Agent Run", frappe.flags.huf_run, "conversation")
	known = {"conversation": conversation, "search": TOOLS_WITH_FIXED_DESTINATION, "tool": row.tool_name}
	found = frappe.db.sql(
		f"""select made.result {CALLS} and made.status = 'Success' and made.tool in (
			select tool_name from `tabAgent Tool Function` where types = 'App Provided'
			and coalesce(nullif(function_path, ''), tool_name) in %(search)s)""",
		known,
	)
	opened = frappe.db.sql(f"select count(*) {CALLS} and made.tool = %(tool)s", known)[0][0]
	listed = [text for (text,) in found]
	return opened <= MAX_FOLLOWED_LINKS and all(any(f'"{url}"' in text for text in listed) for url in urls)


def drop_allowed(value: Any, hosts: list[str]) -> Any:
	"""Arguments without the user's name and addresses in the agent's own mail domains, which are safe
	recipients.
	"""

	def is_own(each: Any) -> bool:
		return isinstance(each, str) and (each == frappe.session.user or is_allowed_address(each, hosts))

	return map_values(lambda each: None if is_own(each) else each, value)


def name_values(row, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
	"""The arguments; the value of a set field is listed under the field's name."""
	if row.types == "Set Value":
		return {arguments.get("fieldname") or "value": arguments.get("value")}
	return arguments


def build_policy(row, arguments: Mapping[str, Any]) -> ToolPolicy:
	"""The policy of a tool's calls, from its declarations or its type."""
	effect = Effect(row.effect or Effect.EXTERNAL)
	if row.types in (*CODE_TYPES, MCP_TOOL):
		if row.documents_only and not row.sensitive_parameters:
			return ToolPolicy(effect, frozenset(), bool(row.destructive))
		return ToolPolicy(effect, parse_sensitive(row.sensitive_parameters), bool(row.destructive))
	if row.types in HTTP_TYPES:
		return ToolPolicy(effect, frozenset(["url"]))
	if row.types in (SEND_MAIL, NOTIFY):
		# A notification stays on the site, so its text may repeat untrusted content.
		return ToolPolicy(Effect.WRITE if row.types == NOTIFY else effect, frozenset(["to"]))
	if row.types == REMEMBER:
		# A fact for the user alone is kept apart until a person trusts it; for others, a person decides.
		return ToolPolicy(effect, frozenset(["role", "doctype", "name"]))
	doctype = row.reference_doctype or arguments.get("doctype")
	if row.types in DESTRUCTIVE_TYPES:
		return ToolPolicy(effect, None, destructive=True)
	if doctype == "Comment":
		return ToolPolicy(effect, frozenset(), destructive=bool(MENTION.search(str(arguments))))
	if doctype and is_protected(doctype):
		return ToolPolicy(effect, None, destructive=True)
	sensitive = list_sensitive_fields(doctype, row.types in CREATING_TYPES) if doctype else frozenset()
	return ToolPolicy(effect, sensitive)


def parse_sensitive(text: str | None) -> frozenset[str] | None:
	"""The names in Sensitive Parameters; None if it is blank, which means all."""
	names = (text or "").split()
	return frozenset(names) - {NO_PARAMETERS} if names else None
