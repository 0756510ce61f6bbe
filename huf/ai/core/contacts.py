"""Collects whom a tool call contacts outside the site, for the journal. Pure.

A line is `http HOST`, `http ADDRESS`, `mcp COMMAND`, `search PROVIDER` or `model HOST`, with ` refused` where
Huf or a person did not allow it, or `mail @DOMAIN refused`; mail that was written is in Agent Mail. Paths and
names of people are left out; the call's arguments have them.
"""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from huf.ai.core.egress import list_urls, parse_host

MAX_CONTACTS = 100
"""Of one call. Redirects and recipients are limited as well."""
MAIL_ARGUMENTS = ("to", "cc", "bcc", "recipients")
CONTACTS: ContextVar[dict[str, None] | None] = ContextVar("huf_contacts", default=None)
"""Lines of the present call. Copies of its context share them."""


def record_contact(kind: str, destination: str, refused: bool = False) -> None:
	contacts = CONTACTS.get()
	if contacts is not None and len(contacts) < MAX_CONTACTS:
		contacts[f"{kind} {destination}{' refused' if refused else ''}"] = None


def name_model_host(provider: str | None, base: str | None) -> str:
	"""The host of a provider's address; the provider's name where LiteLLM knows the address."""
	return urlsplit(base or "").netloc.rpartition("@")[2].lower() or provider or ""


def list_refused(arguments: Mapping[str, Any] | None) -> list[str]:
	"""The contacts that a call would have made which was not made, as far as its arguments name them."""
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
