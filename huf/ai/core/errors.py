"""Exceptions, sorted by reader: the caller, the model, the operator, or the code that drives a run."""

from huf.ai.core.types import StopReason, Usage

DETAILS_MARK = "\nDetails: "


class UsageError(Exception):
	"""For the caller: says what happened and what to do instead."""

	http_status_code = 417


class TooManyRuns(UsageError):
	"""The user has started as many runs as they may for now; the message says when to try again."""

	http_status_code = 429


class ConversationBusy(UsageError):
	"""Another run of the conversation has not ended: a new one has to wait in line."""


class RunLost(UsageError):
	"""The caller's run was deleted, or another worker goes on with it."""

	def __init__(self, run: str):
		super().__init__(f"The run {run} was deleted, or another worker goes on with it. Open it to see.")
		self.run = run


class ToolError(Exception):
	"""For the model: becomes the tool result of the call that failed."""


class OutcomeUnknown(ToolError):
	"""A call failed after it was sent, so that it may have been carried out.

	Args:
		reason: what failed, as sentences
	"""

	def __init__(self, reason: str):
		self.reason = reason
		advice = "Whether it was carried out is not known: find out before you try again."
		super().__init__(f"{reason.rstrip('.')}. {advice}")


class PreviewRefused(ToolError):
	"""A dry run was about to act outside its transaction, so its effect cannot be previewed."""


class ModelError(Exception):
	"""For the operator: a model call failed.

	Args:
		status: the provider's HTTP status, if there was one; 408 also where the model fell silent.
		retryable: whether another try can help.
		usage: what the failed call has used; None if unknown.
		retry_after: seconds that the provider asks to wait before another try.
		is_too_long: whether the request exceeds the model's window.
	"""

	def __init__(
		self,
		message: str,
		*,
		provider: str = "",
		status: int | None = None,
		retryable: bool = False,
		usage: Usage | None = None,
		retry_after: float = 0,
		is_too_long: bool = False,
	):
		super().__init__(message)
		self.provider, self.status, self.retryable, self.usage = provider, status, retryable, usage
		self.retry_after, self.is_too_long = retry_after, is_too_long

	@property
	def is_timeout(self) -> bool:
		return self.status == 408


class RunStopped(Exception):
	"""A guard or a limit ended the run; `why` explains it to the user if the reason alone does not."""

	def __init__(self, reason: StopReason, why: str | None = None):
		super().__init__(why or f"The run was stopped: {reason.value}")
		self.reason, self.why = reason, why


class BudgetReserved(Exception):
	"""The rest of a budget is reserved for calls in progress, which may soon release part of it."""


class ToolTimeout(Exception):
	"""For the model: a tool exceeded its time-out and was abandoned."""


class RunPaused(Exception):
	"""The run waits for a person and has no lease until they answer; `drafts` are what they are asked."""

	def __init__(self, drafts: list[dict]):
		super().__init__(f"The run waits for an answer to {', '.join(each['draft'] for each in drafts)}.")
		self.drafts = drafts


class LeaseLost(Exception):
	"""This worker's lease has run out, and another may hold the run: record nothing more."""


class RunHeld(Exception):
	"""A stop holds the run: it is queued again without the present call, and goes on when released."""

	def __init__(self, stop: dict):
		super().__init__(f"The run is held: {stop['reason']}")
		self.stop = stop


class RunAlreadyOpened(Exception):
	"""The trigger event, or the request with this idempotency key, already has its run."""


def add_details(message: str, details: object) -> str:
	"""A message for people, with a library's own words in a last line that pages fold away."""
	return f"{message}{DETAILS_MARK}{details}"
