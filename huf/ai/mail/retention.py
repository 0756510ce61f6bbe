"""How long mails keep their contents: as long as runs do. A mail's row stays, so that it is not taken in once more."""

from datetime import datetime

import frappe
from frappe.utils import add_to_date, now_datetime

from huf.ai.core.mail_types import MailStatus
from huf.ai.core.settings import get_settings
from huf.ai.mail import store
from huf.ai.mail.store import EVENT, MAIL

BATCH = 500
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
	"""Take the contents and the files out of old mails that nobody works on; gives how many. Called every day; commits."""
	settings = get_settings()
	days = [days for days in (settings.keep_contents_days, settings.keep_runs_days) if days]
	if not days:
		return 0
	before = add_to_date(now or now_datetime(), days=-min(days), as_datetime=True)
	# Who took it in goes with its contents, so that what is blank is not looked at again.
	old = {
		"creation": ["<", before],
		"status": ["not in", [each.value for each in OPEN]],
		"taken_by": ["is", "set"],
	}
	done = 0
	while names := frappe.get_all(MAIL, old, pluck="name", order_by="creation asc", limit=BATCH):
		blank_mails(names)
		frappe.db.commit()
		done += len(names)
	return done


def blank_mails(names: list[str]) -> None:
	store.delete_files(names)
	gone = dict.fromkeys((*CONTENTS, "taken_by"))
	frappe.db.set_value(MAIL, {"name": ["in", names]}, gone, update_modified=False)
	frappe.db.set_value(
		EVENT, {"mail": ["in", names]}, {"summary": None, "details": None}, update_modified=False
	)
