"""What a run that has read strangers' words may still send out by itself.

Whoever writes to an agent writes into its instructions. So once a run has mail, web text or a file from a chat in its context,
whatever could carry data out to somewhere new needs a person. Decides; reads and writes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any
from urllib.parse import urlsplit


class Source(str, Enum):
	"""Where a run's untrusted text came from."""

	MAIL = "mail"
	WEB = "web"
	FILE = "files"


URL_ARGUMENTS = ("url", "urls", "link", "address")
HARMLESS = ("Run Agent", "Speech to Text")
"""External types that choose no receiver: another agent's tools are asked themselves."""
FIXED = ("web_search",)
"""Tools whose receiver the site's manager chose."""


def find_outsiders(recipients: Iterable[str], people: Iterable[str]) -> list[str]:
	"""Recipients who take no part in a thread."""
	known = {each.lower() for each in people}
	return [each for each in recipients if each.lower() not in known]


@dataclass(frozen=True)
class Exit:
	"""A call that reaches outside, as far as it matters where to. A tool's `base_url` was chosen by a person."""

	name: str
	types: str
	arguments: Mapping[str, Any]
	base_url: str | None = None

	@property
	def urls(self) -> list[str]:
		found = [self.arguments[name] for name in URL_ARGUMENTS if self.arguments.get(name)]
		return [str(url) for each in found for url in (each if isinstance(each, list) else [each])]

	@property
	def is_plain_link(self) -> bool:
		"""Whether nothing is sent along with the address."""
		rest = [value for name, value in self.arguments.items() if name not in URL_ARGUMENTS and value]
		return not rest and self.types != "POST"


def what_leaves(exit: Exit, sources: Iterable[Source], hosts: Iterable[str], seen: str = "") -> str | None:
	"""Why an external call needs a person first; None: it may be made.

	`hosts`: where the agent may send anything, each a name or *.name. `seen`: what the run has read; a link that stands there
	tells nobody anything and may be followed, unless a mail or a file may have brought it.
	"""
	sources = set(sources)
	if not sources or exit.types in HARMLESS or exit.name in FIXED:
		return None
	read = " and ".join(sorted(each.value for each in sources))
	if not exit.urls:
		return None if exit.base_url else f"It could carry out what the run has read from {read}."
	known = [*hosts, host_of(exit.base_url or "", None)]
	for url in exit.urls:
		is_seen = sources == {Source.WEB} and exit.is_plain_link and url in seen
		host = host_of(url, exit.base_url)
		if not is_seen and not is_listed(host, known):
			return f"{host or url} is not on the agent's list of hosts, and the run has read {read}."
	return None


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
