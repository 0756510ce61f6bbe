"""Decides which outgoing calls need a person once a run has read untrusted content. Pure.

Anyone who writes a mail to an agent can write instructions into it. Once mail, web text or a file from a chat
is in a run's context, a call that could carry data to a new destination therefore needs a person's approval,
whatever the settings say.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit


class UntrustedSource(str, Enum):
	"""Where a run's untrusted content came from; the value is the word used in messages."""

	MAIL = "mail"
	WEB = "web"
	FILE = "files"
	PROGRAM = "a connected program"


URL_ARGUMENTS = ("url", "urls", "link", "address")
TYPES_WITHOUT_DESTINATION = ("Run Agent", "Speech to Text")
"""External tool types without a destination of the model's choice; a called agent checks its own tools."""
GATEWAY_TYPES = ("MCP Tool",)
"""Types whose server may pass on what it gets: its own address is a known destination only if the agent's
hosts name it.
"""
TOOLS_WITH_FIXED_DESTINATION = ("web_search",)
"""Tools whose destination the site's manager has set."""


def find_outsiders(recipients: Iterable[str], people: Iterable[str]) -> list[str]:
	"""Recipients who are not among the people of a mail thread; compared without case."""
	known = {each.lower() for each in people}
	return [each for each in recipients if each.lower() not in known]


@dataclass(frozen=True)
class OutboundCall:
	"""A call of an external tool. `base_url` is the tool record's own and was entered by a person."""

	tool_name: str
	tool_type: str
	arguments: Mapping[str, Any]
	base_url: str | None = None

	@property
	def urls(self) -> list[str]:
		values = [self.arguments[name] for name in URL_ARGUMENTS if self.arguments.get(name)]
		return [str(url) for each in values for url in (each if isinstance(each, list) else [each])]

	@property
	def is_plain_link(self) -> bool:
		"""Whether nothing is sent besides the address."""
		rest = [value for name, value in self.arguments.items() if name not in URL_ARGUMENTS and value]
		return not rest and self.tool_type != "POST"


def find_egress_risk(
	call: OutboundCall, sources: Iterable[UntrustedSource], hosts: Iterable[str], seen: str = ""
) -> str | None:
	"""Why an external call needs a person's approval; None if it may be made.

	Args:
		sources: untrusted content in the run's context.
		hosts: where the agent may send anything; each a host name or `*.name`.
		seen: text the run has read. A link found there carries no data out and may be followed,
			unless a mail or a file could have brought it.
	"""
	sources = set(sources)
	if not sources or call.tool_type in TYPES_WITHOUT_DESTINATION:
		return None
	if call.tool_name in TOOLS_WITH_FIXED_DESTINATION:
		return None
	read = " and ".join(sorted(each.value for each in sources))
	own_host = parse_host(call.base_url or "")
	is_known = own_host and (call.tool_type not in GATEWAY_TYPES or is_allowed_host(own_host, hosts))
	if not call.urls:
		return None if is_known else f"It could carry out what the run has read from {read}."
	allowed = [*hosts, own_host] if is_known else hosts
	for url in call.urls:
		is_seen = sources == {UntrustedSource.WEB} and call.is_plain_link and url in seen
		host = parse_host(url, call.base_url)
		if not is_seen and not is_allowed_host(host, allowed):
			return f"{host or url} is not on the agent's list of hosts, and the run has read {read}."
	return None


def parse_host(url: str, base_url: str | None = None) -> str:
	"""The host of a URL in lower case; that of `base_url` for a relative path; "" if it has none."""
	try:
		host = urlsplit(url if "://" in url else f"{base_url or ''}").hostname
	except ValueError:
		return ""
	return (host or "").lower().rstrip(".")


def is_allowed_host(host: str, hosts: Iterable[str]) -> bool:
	names = [each.strip().lower() for each in hosts if each and each.strip()]
	return bool(host) and any(
		host == name or (name.startswith("*.") and host.endswith(name[1:])) for name in names
	)
