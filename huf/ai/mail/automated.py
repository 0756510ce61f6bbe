"""Detects mail that was written by a machine and must not be answered by one (RFC 3834 and common practice).

Reads headers and the sender's address only, never the content.
"""

from collections.abc import Callable, Sequence

MACHINE_NAMES = (
	"mailer-daemon",
	"postmaster",
	"no-reply",
	"noreply",
	"do-not-reply",
	"donotreply",
	"bounce",
	"bounces",
)
BULK_PRECEDENCES = ("bulk", "junk", "list", "auto_reply")
LIST_HEADERS = ("List-Id", "List-Unsubscribe", "List-Post", "List-Help", "Mailing-List")
RESPONDER_HEADERS = (
	"X-Autoreply",
	"X-Autorespond",
	"X-Autoresponder",
	"X-AutoReply-From",
	"X-Auto-Reply",
	"X-Mail-Autoreply",
)
REPORT_TYPES = ("multipart/report", "message/delivery-status", "message/disposition-notification")


def find_automated(header: Callable[[str], str | None], sender: str) -> str | None:
	"""Why a mail counts as automated, for people to read; None if a person wrote it, as far as one can tell.

	`header` returns the first value of a header, or None.
	"""
	for check in (
		check_auto_submitted,
		check_return_path,
		check_precedence,
		check_list_headers,
		check_responder_headers,
		check_response_suppression,
		check_report_type,
		check_sender_name,
	):
		if reason := check(header, sender):
			return reason
	return None


def check_auto_submitted(header, sender) -> str | None:
	value = (header("Auto-Submitted") or "no").split(";")[0].strip().lower()
	return None if value == "no" else f"Auto-Submitted: {value}"


def check_return_path(header, sender) -> str | None:
	path = header("Return-Path")
	return (
		"an empty Return-Path, as bounces have" if path is not None and path.strip() in ("<>", "") else None
	)


def check_precedence(header, sender) -> str | None:
	value = (header("Precedence") or "").strip().lower()
	return f"Precedence: {value}" if value in BULK_PRECEDENCES else None


def check_list_headers(header, sender) -> str | None:
	return find_present_header(header, LIST_HEADERS)


def check_responder_headers(header, sender) -> str | None:
	return find_present_header(header, RESPONDER_HEADERS)


def check_response_suppression(header, sender) -> str | None:
	value = (header("X-Auto-Response-Suppress") or "").lower()
	wanted = {part.strip() for part in value.split(",")} & {"all", "autoreply", "oof"}
	return f"X-Auto-Response-Suppress: {value}" if wanted else None


def check_report_type(header, sender) -> str | None:
	kind = (header("Content-Type") or "").split(";")[0].strip().lower()
	return f"Content-Type: {kind}" if kind in REPORT_TYPES else None


def check_sender_name(header, sender) -> str | None:
	local = sender.partition("@")[0].lower()
	is_machine = local.split("+")[0] in MACHINE_NAMES or local.startswith("bounce")
	return f"the sender {sender}" if is_machine else None


def find_present_header(header, names: Sequence[str]) -> str | None:
	return next((f"the header {name}" for name in names if header(name) is not None), None)
