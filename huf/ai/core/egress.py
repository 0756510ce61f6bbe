"""Hosts and addresses that calls may reach without a person once a run has read untrusted content. Pure.

The rule itself is in `flow.py`.
"""

from collections.abc import Iterable, Mapping
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
