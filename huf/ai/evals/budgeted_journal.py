"""Reserves and settles the model calls of what leaves no run on record: evals, their judge, and reruns."""

from huf.ai.core.costs import Grant
from huf.ai.core.types import ModelReply, Usage
from huf.ai.loop.run_context import MeasureCost, NoJournal
from huf.ai.storage.standalone_calls import budgeted_call


class BudgetedJournal(NoJournal):
	"""Counts each model call towards the budgets of the user and the site. Commits."""

	def start_model_call(self, step: int, measure_cost: MeasureCost) -> Grant | None:
		self.call = budgeted_call(measure_cost())
		self.used = self.call.__enter__()
		return self.used.grant

	def end_model_call(self, usage: Usage | None) -> None:
		self.used.usage = usage
		self.call.__exit__(None, None, None)

	def finish_model_call(self, step: int, reply: ModelReply) -> None:
		self.end_model_call(reply.usage)

	def fail_model_call(self, step: int, why: str, partial: str, usage: Usage | None) -> None:
		self.used.has_failed = True
		self.end_model_call(usage)
