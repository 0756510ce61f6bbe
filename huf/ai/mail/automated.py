"""Whether a mail was written by a machine and must never be answered by one (RFC 3834 and what is usual besides).

Looks at headers only; never at what the mail says.
"""

from collections.abc import Callable, Sequence

MACHINES = (
	"mailer-daemon",
	"postmaster",
	"no-reply",
	"noreply",
	"do-not-reply",
	"donotreply",
	"bounce",
	"bounces",
)
BULK = ("bulk", "junk", "list", "auto_reply")
LISTS = ("List-Id", "List-Unsubscribe", "List-Post", "List-Help", "Mailing-List")
REPLIERS = (
	"X-Autoreply",
	"X-Autorespond",
	"X-Autoresponder",
	"X-AutoReply-From",
	"X-Auto-Reply",
	"X-Mail-Autoreply",
)
REPORTS = ("multipart/report", "message/delivery-status", "message/disposition-notification")


def find_automated(header: Callable[[str], str | None], sender: str) -> str | None:
	"""Why a mail counts as a machine's, for a person to read; None: a person wrote it, as far as can be told.

	`header` gives a header's first value, None where it is not there.
	"""
	for check in (submitted, null_path, precedence, listed, replied, suppressed, reported, machine):
		if reason := check(header, sender):
			return reason
	return None


def submitted(header, sender) -> str | None:
	value = (header("Auto-Submitted") or "no").split(";")[0].strip().lower()
	return None if value == "no" else f"Auto-Submitted: {value}"


def null_path(header, sender) -> str | None:
	path = header("Return-Path")
	return (
		"an empty Return-Path, as bounces have" if path is not None and path.strip() in ("<>", "") else None
	)


def precedence(header, sender) -> str | None:
	value = (header("Precedence") or "").strip().lower()
	return f"Precedence: {value}" if value in BULK else None


def listed(header, sender) -> str | None:
	return found(header, LISTS)


def replied(header, sender) -> str | None:
	return found(header, REPLIERS)


def suppressed(header, sender) -> str | None:
	value = (header("X-Auto-Response-Suppress") or "").lower()
	wanted = {part.strip() for part in value.split(",")} & {"all", "autoreply", "oof"}
	return f"X-Auto-Response-Suppress: {value}" if wanted else None


def reported(header, sender) -> str | None:
	kind = (header("Content-Type") or "").split(";")[0].strip().lower()
	return f"Content-Type: {kind}" if kind in REPORTS else None


def machine(header, sender) -> str | None:
	local = sender.partition("@")[0].lower()
	is_machine = local.split("+")[0] in MACHINES or local.startswith("bounce")
	return f"the sender {sender}" if is_machine else None


def found(header, names: Sequence[str]) -> str | None:
	return next((f"the header {name}" for name in names if header(name) is not None), None)
