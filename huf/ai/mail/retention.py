"""Applies the retention settings to mail. Rows stay, so that a mail is not ingested again."""

from datetime import datetime

from frappe.utils import add_to_date, now_datetime

from huf.ai.core.mail_types import MailStatus
from huf.ai.core.settings import get_settings
from huf.ai.mail import store
from huf.ai.mail.store import EVENT, MAIL
from huf.ai.storage.rows import blank_fields, process_in_batches

OPEN = (MailStatus.QUEUED, MailStatus.STARTED, MailStatus.WITH_PERSON, MailStatus.DRAFT, MailStatus.APPROVED)
CONTENTS = (
	"subject",
	"text",
	"new_text",
	"prompt",
	"prepared",
	"checks",
	"attachments",
	"raw_file",
	"sender_name",
)


def blank_old_mails(now: datetime | None = None) -> int:
	"""Blank contents and delete files of old mails that need no further work; return how many.

	Scheduled daily; commits.
	"""
	settings = get_settings()
	days = [days for days in (settings.keep_contents_days, settings.keep_runs_days) if days]
	if not days:
		return 0
	before = add_to_date(now or now_datetime(), days=-min(days), as_datetime=True)
	# `taken_by` is blanked too, so that a blank mail does not match again.
	old = {
		"creation": ["<", before],
		"status": ["not in", [each.value for each in OPEN]],
		"taken_by": ["is", "set"],
	}
	return process_in_batches(MAIL, old, blank_mails)


def blank_mails(names: list[str]) -> None:
	store.delete_files(names)
	blank_fields(MAIL, {"name": ["in", names]}, (*CONTENTS, "taken_by"))
	blank_fields(EVENT, {"mail": ["in", names]}, ("summary", "details"))
