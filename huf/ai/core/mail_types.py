"""States, jobs and events of mail, shared by several packages. Pure."""

from enum import Enum


class Direction(str, Enum):
	INCOMING = "Incoming"
	OUTGOING = "Outgoing"


class MailStatus(str, Enum):
	"""Status of an Agent Mail.

	Incoming: Queued, its job waits; Started, its run is open; With Person, its thread was handed over.
	Outgoing: Approved, ready to be sent; Queued, in the mail queue; Sent, the mail server took it; Failed, it
	did not; Held, not queued. Failed and Held have their reason on record.
	"""

	QUEUED = "Queued"
	STARTED = "Started"
	DONE = "Done"
	SKIPPED = "Skipped"
	FAILED = "Failed"
	WITH_PERSON = "With Person"
	DRAFT = "Draft"
	APPROVED = "Approved"
	SENT = "Sent"
	HELD = "Held"
	DISCARDED = "Discarded"


class MailJob(str, Enum):
	"""The next job for a mail; each opens a run."""

	CLASSIFY = "classify"
	DRAFT = "draft"
	AGENT_PROCESS = "agent_process"


class MailEvent(str, Enum):
	"""Kinds of Agent Mail Event."""

	RECEIVED = "received"
	ROUTED = "routed"
	RUN_STARTED = "run_started"
	CLASSIFIED = "classified"
	COMPLETED = "completed"
	FAILED = "failed"
	SKIPPED = "skipped"
	DRAFTED = "draft_created"
	DRAFT_CHANGED = "draft_changed"
	DRAFT_KEPT = "draft_kept"
	DISCARDED = "draft_discarded"
	APPROVED = "approved"
	QUEUED = "queued"
	SENT = "sent"
	HELD = "held"
	ESCALATED = "escalated"
	GIVEN_BACK = "given_back"
	RUN_AGAIN = "run_again"
