"""Detects mail that was written by a machine and must not be answered by one (RFC 3834 and common practice).

Reads headers and the sender's address only, never the content.
"""

import re
from collections.abc import Callable, Iterator

MACHINE_NAMES = ("mailerdaemon", "noreply", "donotreply", "bounce")
"""Beginnings of addresses, without their separators: no.reply, noreply-orders, bounces+17."""
BULK_PRECEDENCES = ("bulk", "junk", "list", "auto_reply")
AUTOMATED_HEADERS = (
	"List-Id",
	"List-Unsubscribe",
	"List-Post",
	"List-Help",
	"Mailing-List",
	"X-Autoreply",
	"X-Autorespond",
	"X-Autoresponder",
	"X-AutoReply-From",
	"X-Auto-Reply",
	"X-Mail-Autoreply",
)
"""Headers of mailing lists and of responders."""
WEAK_SIGNS = ("Precedence: list", "the header List-", "the header Mailing-List", "X-Auto-Response-Suppress")
"""How reasons begin that a person's mail may have: a list delivers it, or it wants no automatic reply."""
REPORT_TYPES = ("multipart/report", "message/delivery-status", "message/disposition-notification")


def find_automated(header: Callable[[str], str | None], sender: str) -> str | None:
	"""Why a mail counts as automated, for people to read; None if nothing marks it as such.

	`header` returns the first value of a header, or None.
	"""
	return next(list_signs(header, sender), None)


def list_signs(header: Callable[[str], str | None], sender: str) -> Iterator[str]:
	submitted = read_header_value(header, "Auto-Submitted") or "no"
	if submitted != "no":
		yield f"Auto-Submitted: {submitted}"
	path = header("Return-Path")
	if path is not None and path.strip() in ("<>", ""):
		yield "an empty Return-Path, as bounces have"
	precedence = read_header_value(header, "Precedence")
	if precedence in BULK_PRECEDENCES:
		yield f"Precedence: {precedence}"
	yield from (f"the header {name}" for name in AUTOMATED_HEADERS if header(name) is not None)
	suppressed = (header("X-Auto-Response-Suppress") or "").lower()
	if {part.strip() for part in suppressed.split(",")} & {"all", "autoreply", "oof"}:
		yield f"X-Auto-Response-Suppress: {suppressed}"
	content_type = read_header_value(header, "Content-Type")
	if content_type in REPORT_TYPES:
		yield f"Content-Type: {content_type}"
	name = re.sub("[._-]", "", sender.partition("@")[0].lower())
	if name.startswith(MACHINE_NAMES) or name.split("+")[0] == "postmaster":
		yield f"the sender {sender}"


def read_header_value(header: Callable[[str], str | None], name: str) -> str:
	"""A header in lower case, without its parameters."""
	return (header(name) or "").split(";")[0].strip().lower()
