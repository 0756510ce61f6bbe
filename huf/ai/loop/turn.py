"""Classifies a model's reply as a turn: a closed union, separate from acting on it."""

from dataclasses import dataclass

from huf.ai.core.types import CallRequest, ModelReply, StopReason


@dataclass(frozen=True)
class FinalAnswer:
	text: str


@dataclass(frozen=True)
class CutAnswer:
	"""The model reached a token limit, so its text is incomplete."""

	text: str
	reason: StopReason
	why: str | None = None


@dataclass(frozen=True)
class CallTools:
	requests: tuple[CallRequest, ...]
	text: str = ""


CUT_BY = {
	"length": (StopReason.CONTEXT_BUDGET, None),
	"repetition": (StopReason.STALLED, "The model repeated itself without end, so its answer was stopped."),
	"budget": (StopReason.MONEY_BUDGET, "The answer was cut where its budget ended."),
}
"""Finish reasons of a cut answer; `budget` is ours, for one that had to be shorter than the model's own
limit.
"""

Turn = FinalAnswer | CutAnswer | CallTools


def read_turn(reply: ModelReply) -> Turn:
	"""Sort a reply. Calls in a cut answer are not trusted: their arguments may be cut as well."""
	if reply.finish_reason in CUT_BY:
		reason, why = CUT_BY[reply.finish_reason]
		return CutAnswer(reply.text, reason, reply.cut_by or why)
	if reply.calls:
		return CallTools(reply.calls, reply.text)
	return FinalAnswer(reply.text)
