"""Destinations of calls outside the site: which ones a call may reach without a person once its run has read
untrusted content, and which ones it has contacted. Pure.

The rule itself is in `flow.py`. A contact is a line for the journal: `http HOST`, `http ADDRESS`,
`mcp COMMAND`, `search PROVIDER` or `model HOST`, with ` refused` where Huf or a person did not allow it, or
`mail @DOMAIN refused`; mail that was written is in Agent Mail. Paths and names of people are left out; the
call's arguments have them.
"""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from huf.ai.core.text_decoding import EMAIL_ADDRESS

URL_ARGUMENTS = ("url", "urls", "link", "address")
TYPES_WITHOUT_DESTINATION = ("Run Agent", "Speech to Text")
"""External tool types without a destination of the model's choice; a called agent checks its own tools."""
GATEWAY_TYPES = ("MCP Tool",)
"""Types whose server may pass on what it gets: its own address is a known destination only if the agent's
hosts name it.
"""
TOOLS_WITH_FIXED_DESTINATION = ("web_search",)
"""Tools whose destination the site's manager has set."""
MAX_FOLLOWED_LINKS = 10
"""Results of a web search that a run may open. Each link opened out of many tells its owner a little."""
MAX_CONTACTS = 100
"""Limit for one call. Its redirects and recipients have limits of their own."""
MAIL_ARGUMENTS = ("to", "cc", "bcc", "recipients")
CONTACTS: ContextVar[dict[str, None] | None] = ContextVar("huf_contacts", default=None)
"""Lines of the present call. Copies of its context share them."""


def find_outsiders(recipients: Iterable[str], people: Iterable[str]) -> list[str]:
	"""Recipients who are not among the people of a mail thread; compared without case."""
	known = {each.lower() for each in people}
	return [each for each in recipients if each.lower() not in known]


def list_urls(arguments: Mapping[str, Any]) -> list[str]:
	"""The values of the URL arguments, as strings."""
	values = [arguments[name] for name in URL_ARGUMENTS if arguments.get(name)]
	return [str(url) for each in values for url in (each if isinstance(each, list) else [each])]


def is_plain_link(arguments: Mapping[str, Any]) -> bool:
	"""Whether nothing is sent besides the address."""
	return not any(value for name, value in arguments.items() if name not in URL_ARGUMENTS)


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


def is_allowed_address(value: str, hosts: Iterable[str]) -> bool:
	"""Whether an e-mail address belongs to a domain of the list, which is written as @example.com."""
	address = value.strip().lower()
	_, _, domain = address.rpartition("@")
	return bool(EMAIL_ADDRESS.fullmatch(address)) and f"@{domain}" in {each.strip().lower() for each in hosts}


def record_contact(kind: str, destination: str, refused: bool = False) -> None:
	contacts = CONTACTS.get()
	if contacts is not None and len(contacts) < MAX_CONTACTS:
		contacts[f"{kind} {destination}{' refused' if refused else ''}"] = None


def name_model_host(provider: str | None, base: str | None) -> str:
	"""The host of a provider's address; the provider's name where LiteLLM knows the address."""
	return urlsplit(base or "").netloc.rpartition("@")[2].lower() or provider or ""


def list_refused(arguments: Mapping[str, Any] | None) -> list[str]:
	"""The contacts of a call that was not made, as far as its arguments name them."""
	arguments = arguments or {}
	hosts = [f"http {host} refused" for url in list_urls(arguments) if (host := parse_host(url))]
	named = [arguments[name] for name in MAIL_ARGUMENTS if arguments.get(name)]
	people = [part for each in named for part in (each if isinstance(each, list) else str(each).split(","))]
	mail = [f"mail {domain} refused" for domain in list_domains(map(str, people))]
	return list(dict.fromkeys([*hosts, *mail]))[:MAX_CONTACTS]


def list_domains(addresses: Iterable[str]) -> list[str]:
	"""The mail domains of addresses, as @example.com."""
	found = (each.rpartition("@")[2].strip(" >").lower() for each in addresses if "@" in each)
	return list(dict.fromkeys(f"@{domain}" for domain in found))
