"""What a model answered, and what it means for the run: a closed union, decided apart from doing it."""

from dataclasses import dataclass

from huf.ai.types import CallRequest, ModelReply


@dataclass(frozen=True)
class FinalAnswer:
	text: str


@dataclass(frozen=True)
class CutAnswer:
	"""The model ran into its token limit: what it wrote is not the whole answer."""

	text: str


@dataclass(frozen=True)
class CallTools:
	requests: tuple[CallRequest, ...]


Turn = FinalAnswer | CutAnswer | CallTools


def decide(reply: ModelReply) -> Turn:
	"""Sort a reply. Calls in a cut answer are not trusted: their arguments may be cut as well."""
	if reply.finish_reason == "length":
		return CutAnswer(reply.text)
	if reply.calls:
		return CallTools(reply.calls)
	return FinalAnswer(reply.text)
