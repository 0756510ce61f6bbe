"""Reserves and settles the model calls of what leaves no run on record: evals, their judge, and reruns."""

from huf.ai.core.costs import Grant
from huf.ai.core.types import ModelReply, Usage
from huf.ai.loop.run_context import MeasureCost, NoJournal
from huf.ai.storage.standalone_calls import begin_call


class BudgetedJournal(NoJournal):
	"""Counts each model call towards the budgets of the user and the site. Commits."""

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		self.call = begin_call(measure_cost())
		return self.call.grant

	def finish_model_call(self, step: int, reply: ModelReply) -> None:
		self.call.usage = reply.usage
		self.call.end()

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		self.call.usage, self.call.has_failed = usage, True
		self.call.end()
