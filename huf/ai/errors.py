"""Exceptions, sorted by who has to read them. Never imports frappe: the loop raises them too."""

from huf.ai.types import StopReason


class UsageError(Exception):
	"""For the person who called: says what to do instead."""

	http_status_code = 417


class ToolError(Exception):
	"""For the model: becomes the observation of the call that failed."""


class ModelError(Exception):
	"""For the operator: a model could not be asked, or did not answer.

	`status` is the provider's HTTP status if there was one; `retryable` says whether asking again can help.
	"""

	def __init__(
		self, message: str, *, provider: str = "", status: int | None = None, retryable: bool = False
	):
		super().__init__(message)
		self.provider, self.status, self.retryable = provider, status, retryable


class RunStopped(Exception):
	"""A guard ended the run while it waited."""

	def __init__(self, reason: StopReason):
		super().__init__(f"The run was stopped: {reason.value}")
		self.reason = reason


class LeaseLost(Exception):
	"""This worker was away for so long that the run is another's. Nothing it does may count any more."""


class AlreadyOpened(Exception):
	"""The event of a trigger has its run; there must not be a second."""
