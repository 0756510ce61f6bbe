"""What travels from something that happened to the run that it sets off.

Plain frozen data. Never touches frappe or a database.
"""

from dataclasses import dataclass
from enum import Enum


class TriggerType(str, Enum):
	DOC_EVENT = "Doc Event"
	SCHEDULE = "Schedule"
	WEBHOOK = "Webhook"
	APP_EVENT = "App Event"
	MANUAL = "Manual"


class TriggerEventStatus(str, Enum):
	"""Of one event of a trigger. Queued: its run is still to be opened. Skipped: a condition said no."""

	QUEUED = "Queued"
	FIRED = "Fired"
	SKIPPED = "Skipped"
	FAILED = "Failed"


@dataclass(frozen=True)
class Check:
	"""One condition of a firing. `ok` is None where it was not looked at: an earlier one had said no."""

	text: str
	ok: bool | None
	saw: str = ""


@dataclass(frozen=True)
class TriggerEvent:
	"""One event as it concerns one trigger, and what is to come of it.

	`key` makes it one of its kind, together with the trigger and the document. `initiating_user` set it off, `run_as` is
	whose permissions the run will have.
	"""

	trigger: str
	agent: str
	event: str
	key: str
	status: TriggerEventStatus
	reason: str | None = None
	checks: tuple[Check, ...] = ()
	initiating_user: str | None = None
	run_as: str | None = None
	reference_doctype: str | None = None
	reference_name: str | None = None
	prompt: str | None = None
	payload: str | None = None
	caused_by: str | None = None
	depth: int = 0


@dataclass(frozen=True)
class Origin:
	"""What set off a run that nobody asked for: an event of a trigger, or a mail; `depth` is how many runs led to it.

	`doctype` is where `event` is a row: Queued there, until its run is opened.
	"""

	event: str
	trigger: str | None = None
	caused_by: str | None = None
	depth: int = 0
	reference_doctype: str | None = None
	reference_name: str | None = None
	doctype: str = "Agent Trigger Event"
