"""What a run that has read strangers' words may still send out by itself.

Whoever writes to an agent writes into its instructions. So once a run has mail or web text in its context, whatever could
carry data out to somewhere new needs a person. Decides; reads and writes nothing.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from huf.ai.types import Effect


class Source(str, Enum):
	"""Where a run's untrusted text came from."""

	MAIL = "mail"
	WEB = "web"


URL_ARGUMENTS = ("url", "urls", "link", "address")
HARMLESS = ("Run Agent", "Speech to Text")
"""External types that choose no receiver: another agent's tools are asked themselves."""


def find_outsiders(recipients: Iterable[str], people: Iterable[str]) -> list[str]:
	"""Recipients who take no part in a thread."""
	known = {each.lower() for each in people}
	return [each for each in recipients if each.lower() not in known]


def what_leaves(
	effect: Effect,
	types: str,
	arguments: Mapping[str, Any],
	*,
	base_url: str | None,
	sources: Iterable[Source],
	hosts: Iterable[str],
	seen: str = "",
) -> str | None:
	"""Why a call needs a person first; None: it may be made.

	`hosts`: where the agent may send anything, one or *.one each; a tool's own `base_url` is chosen by a person. `seen`: what
	the run has read. A link that stands there may be followed as it is, unless a mail brought it.
	"""
	sources = set(sources)
	if not sources or effect is not Effect.EXTERNAL or types in HARMLESS:
		return None
	read = " and ".join(sorted(each.value for each in sources))
	wanted = urls_of(arguments)
	if not wanted:
		return None if base_url else f"It could carry out what the run has read from {read}."
	for url in wanted:
		host = host_of(url, base_url)
		if not is_listed(host, [*hosts, host_of(base_url or "", None)]) and not (
			Source.MAIL not in sources and url in seen
		):
			return f"{host or url} is not on the agent's list of hosts, and the run has text from {read} in its context."
	return None


def urls_of(arguments: Mapping[str, Any]) -> list[str]:
	found = [arguments[name] for name in URL_ARGUMENTS if arguments.get(name)]
	return [str(url) for each in found for url in (each if isinstance(each, list) else [each])]


def host_of(url: str, base_url: str | None) -> str:
	"""In small letters; that of the base for a path below it."""
	try:
		host = urlsplit(url if "://" in url else f"{base_url or ''}").hostname
	except ValueError:
		return ""
	return (host or "").lower().rstrip(".")


def is_listed(host: str, hosts: Iterable[str]) -> bool:
	names = [each.strip().lower() for each in hosts if each and each.strip()]
	return bool(host) and any(
		host == name or (name.startswith("*.") and host.endswith(name[1:])) for name in names
	)
