"""Value types of triggers: events, the conditions checked for them, the origin of their runs. Pure."""

from dataclasses import dataclass
from enum import Enum


class TriggerType(str, Enum):
	DOC_EVENT = "Doc Event"
	SCHEDULE = "Schedule"
	WEBHOOK = "Webhook"
	APP_EVENT = "App Event"
	MANUAL = "Manual"


class TriggerEventStatus(str, Enum):
	"""Status of a trigger event. Queued: its run is not open yet. Skipped: a condition was not met."""

	QUEUED = "Queued"
	FIRED = "Fired"
	SKIPPED = "Skipped"
	FAILED = "Failed"


@dataclass(frozen=True)
class ConditionResult:
	"""Outcome of one condition. `ok` is None if it was not evaluated because an earlier one failed.

	`text` is the condition, `saw` the value it was compared with.
	"""

	text: str
	ok: bool | None
	saw: str = ""


@dataclass(frozen=True)
class TriggerEvent:
	"""One event, evaluated for one trigger, and the run it requests.

	`key` identifies it uniquely together with the trigger and the document. `initiating_user` caused it; the
	run has the permissions of `run_as`. Deliveries with one `conversation_key` continue one conversation.
	"""

	trigger: str
	agent: str
	event: str
	key: str
	status: TriggerEventStatus
	reason: str | None = None
	checks: tuple[ConditionResult, ...] = ()
	initiating_user: str | None = None
	run_as: str | None = None
	reference_doctype: str | None = None
	reference_name: str | None = None
	prompt: str | None = None
	payload: str | None = None
	caused_by: str | None = None
	depth: int = 0
	conversation_key: str | None = None


@dataclass(frozen=True)
class RunCause:
	"""What started a run that no person asked for: a trigger event or a mail.

	`depth` counts the runs that led to it. `event` names a row of `doctype`, which is Queued until its run is
	opened.
	"""

	event: str
	trigger: str | None = None
	caused_by: str | None = None
	depth: int = 0
	reference_doctype: str | None = None
	reference_name: str | None = None
	doctype: str = "Agent Trigger Event"
