"""Exceptions, sorted by who has to read them. Never imports frappe: the loop raises them too."""

from huf.ai.core.types import StopReason, Usage


class UsageError(Exception):
	"""For the person who called: says what to do instead."""

	http_status_code = 417


class TooManyRuns(UsageError):
	"""The person has started as many runs as they may for now; says when to come back."""

	http_status_code = 429


class ToolError(Exception):
	"""For the model: becomes the observation of the call that failed."""


class PreviewRefused(ToolError):
	"""What was tried reaches out of its transaction at once, so nobody can be shown beforehand what it would do."""


class ModelError(Exception):
	"""For the operator: a model could not be asked, or did not answer.

	`status` is the provider's HTTP status if there was one; `retryable` says whether asking again can help; `usage` is
	what the call has used for all that, None where nobody knows.
	"""

	def __init__(
		self,
		message: str,
		*,
		provider: str = "",
		status: int | None = None,
		retryable: bool = False,
		usage: Usage | None = None,
	):
		super().__init__(message)
		self.provider, self.status, self.retryable, self.usage = provider, status, retryable, usage


class RunStopped(Exception):
	"""A guard or a limit ended the run; `why` is for the person, where the reason alone does not say it."""

	def __init__(self, reason: StopReason, why: str | None = None):
		super().__init__(why or f"The run was stopped: {reason.value}")
		self.reason, self.why = reason, why


class BudgetHeld(Exception):
	"""What is left of a budget is set aside for calls under way, which may soon give some of it back."""


class TookTooLong(Exception):
	"""For the model: a tool did not end in its time and was abandoned."""


class RunPaused(Exception):
	"""The run waits for a person and is nobody's until then; `draft` is what they are shown."""

	def __init__(self, draft: dict):
		super().__init__(f"The run waits for an answer to {draft['draft']}.")
		self.draft = draft


class LeaseLost(Exception):
	"""This worker was away for so long that the run is another's. Nothing it does may count any more."""


class AlreadyOpened(Exception):
	"""The event of a trigger has its run; there must not be a second."""
