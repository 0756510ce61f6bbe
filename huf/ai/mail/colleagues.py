"""Tells the site's own people from outsiders by their addresses."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import frappe

from huf.ai.mail.store import MAILBOX


def is_colleague(address: str, own: Iterable[str]) -> bool:
	"""Whether an address is one of the site: of a mailbox, a System User, or the domain of a mailbox.

	`own`: the addresses of the mailbox. Anybody can have an address at a public mail provider, so that its
	domain makes nobody a colleague.
	"""
	if any(is_of_same_domain(address, each) for each in own):
		return True
	return bool(address) and (address in own or is_mailbox(address) or is_system_user(address))


def is_of_same_domain(address: str, other: str) -> bool:
	"""Whether two addresses have one domain that is not a public mail provider's."""
	domain = address.rpartition("@")[2]
	return bool(domain) and domain == other.rpartition("@")[2] and domain not in read_public_domains()


def is_mailbox(address: str) -> bool:
	return bool(frappe.db.exists(MAILBOX, {"email": address}))


def is_system_user(address: str) -> bool:
	return bool(frappe.db.exists("User", {"email": address, "enabled": 1, "user_type": "System User"}))


@cache
def read_public_domains() -> frozenset[str]:
	"""The domains of mail providers where anybody can have an address; the file names its source."""
	lines = Path(__file__).with_name("public_domains.txt").read_text(encoding="utf-8").splitlines()
	return frozenset(line for line in lines if line and not line.startswith("#"))
