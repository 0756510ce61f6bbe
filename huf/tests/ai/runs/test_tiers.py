"""Agents that choose a model by task start with the fitting tier and escalate when they stall or fail."""

import frappe

from huf.ai.agents.manager import ModelTiers
from huf.ai.chat.approvals import cancel_run
from huf.ai.chat.messages import continue_in_background, stream_chat
from huf.ai.core.errors import UsageError
from huf.ai.core.types import AgentRequest, Mode
from huf.ai.queries.reports import sum_costs
from huf.ai.queries.runs import describe_runs
from huf.ai.runs.entry import run_agent, run_agent_sync
from huf.ai.runs.queue import enqueue_run, work_on
from huf.ai.runs.replay import replay
from huf.ai.runs.stopping import stop
from huf.tests.ai.routing.test_tiers import MULTI_STEP
from huf.tests.base import SiteTestCase, enter
from huf.tests.contract.connections import together
from huf.tests.factories import make_agent, make_model, make_tool, remove_stops
from huf.tests.model_server import ModelServer, error, text, tool_call

MODELS = {1: "small", 2: "large", 3: "cloud"}


class TestLadder(SiteTestCase):
	def test_first_model_is_the_one_of_the_task_tier(self):
		self.assertEqual(
			[ModelTiers(MODELS, tier).first() for tier in (1, 2, 3)], ["small", "large", "cloud"]
		)

	def test_missing_tier_falls_back_to_another_tier_below_the_cloud(self):
		self.assertEqual(ModelTiers({2: "large", 3: "cloud"}, 1).first(), "large")
		self.assertEqual(ModelTiers({1: "small", 3: "cloud"}, 2).first(), "small")

	def test_cloud_model_is_first_when_it_is_the_only_one(self):
		self.assertEqual(ModelTiers({3: "cloud"}, 1).first(), "cloud")

	def test_stalled_run_escalates_to_the_large_tier_but_not_to_the_cloud(self):
		tiers = ModelTiers(MODELS, 1)
		tiers.first()
		self.assertEqual([tiers.next(False), tiers.next(False)], ["large", None])

	def test_run_with_failing_providers_escalates_up_to_the_cloud(self):
		tiers = ModelTiers(MODELS, 1)
		tiers.first()
		self.assertEqual([tiers.next(True), tiers.next(True), tiers.next(True)], ["large", "cloud", None])


def try_to_continue(run: str) -> dict | str:
	try:
		return continue_in_background(run)
	except UsageError as error:
		return str(error)


class TestRunsByTask(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.small, self.large = enter(self, ModelServer()), enter(self, ModelServer())
		self.models = [make_model(server) for server in (self.small, self.large)]
		frappe.db.commit()
		self.set_settings(tier1_model=self.models[0], tier2_model=self.models[1])
		self.addCleanup(self.set_settings, tier1_model=None, tier2_model=None)
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(None, (self.tool,), choose_by_task=1)

	def set_settings(self, **values):
		frappe.db.rollback()
		settings = frappe.get_doc("Huf Settings")
		settings.update({"model_retries": 0 if any(values.values()) else 2, **values})
		settings.save()
		frappe.db.commit()

	def models_of(self, run: str) -> list[str]:
		return frappe.get_all(
			"Agent LLM Call", {"run": run}, pluck="model", order_by="step asc, creation asc"
		)

	def test_simple_request_runs_inline_with_the_small_model(self):
		self.small.script(text("A paper."))
		result = run_agent_sync(self.agent, "What is a delivery note?")
		self.assertEqual((result["response"], result["model"]), ("A paper.", self.models[0]))
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], ["mode", "tier"]), ("Inline", 1))

	def test_stalled_run_continues_on_the_next_tier_and_records_both_models(self):
		self.small.script(*[tool_call(self.tool, {"limit": 1})] * 2)
		self.large.script(text("There is one."))
		result = run_agent_sync(self.agent, "What is there?")
		self.assertEqual((result["status"], result["response"]), ("Success", "There is one."))
		self.assertEqual(self.models_of(result["run"]), [self.models[0]] * 2 + [self.models[1]])
		self.assertTrue(replay(result["run"]).identical)
		answered = [(each["model"], each["calls"], each["input_tokens"]) for each in result["models"]]
		self.assertEqual(answered, [(self.models[0], 2, 200), (self.models[1], 1, 100)])
		self.assertAlmostEqual(sum(each["cost"] for each in result["models"]), result["total_cost"], places=9)
		shown = describe_runs([result["run"]])[result["run"]]
		self.assertEqual(shown["models"], result["models"])

	def test_costs_by_model_name_the_model_that_answered(self):
		self.small.script(error(503, "down"), *[tool_call(self.tool, {"limit": 1})] * 2)
		self.large.script(text("I am here."), text("There is one."))
		used = [each for _ in range(2) for each in run_agent_sync(self.agent, "What is there?")["models"]]
		rows = {row.grouped: row for row in sum_costs({"group_by": "Model"})}
		for model, runs in zip(self.models, (2, 0), strict=True):
			expected = [each for each in used if each["model"] == model]
			self.assertEqual(rows[model].runs, runs)
			self.assertAlmostEqual(rows[model].cost, sum(each["cost"] for each in expected), places=9)
			tokens = sum(each["input_tokens"] + each["output_tokens"] for each in expected)
			self.assertEqual(rows[model].tokens, tokens)

	def test_a_run_does_not_change_to_a_provider_that_is_stopped(self):
		self.addCleanup(remove_stops)
		stop("Provider", frappe.db.get_value("AI Model", self.models[1], "provider"), "It leaks")
		self.small.script(error(503, "down"))
		result = run_agent_sync(self.agent, "What is a delivery note?")
		self.assertEqual((result["status"], self.large.requests), ("Queued", []))
		cancel_run(result["run"])

	def test_unavailable_model_is_replaced_by_the_next_tier(self):
		self.small.script(error(503, "down"))
		self.large.script(text("I am here."))
		self.assertEqual(run_agent_sync(self.agent, "Hello?")["response"], "I am here.")

	def test_stall_on_the_last_tier_stops_the_run_with_a_final_answer(self):
		self.small.script(*[tool_call(self.tool, {"limit": 1})] * 2)
		self.large.script(*[tool_call(self.tool, {"limit": 2})] * 2, text("All I have."))
		result = run_agent_sync(self.agent, "What is there?")
		self.assertEqual((result["stop_reason"], result["response"]), ("stalled", "All I have."))
		self.assertTrue(replay(result["run"]).identical)

	def test_long_chat_task_is_queued_as_a_background_run(self):
		events = list(stream_chat(self.agent, MULTI_STEP[0]))
		self.assertEqual([event.kind.value for event in events], ["run_queued"])
		self.large.script(
			*[tool_call(self.tool, {"limit": 1, "filters": {"name": str(n)}}) for n in range(2)],
			text("Done."),
		)
		self.assertEqual(work_on(events[0].run).response, "Done.")
		self.assertEqual(frappe.db.get_value("Agent Run", events[0].run, "mode"), "Background")

	def test_a_run_whose_mode_is_fixed_has_the_tier_of_its_task_too(self):
		self.small.script(text("A paper."), text("A paper."))
		queued = enqueue_run(AgentRequest(self.agent, "What is a delivery note?", "Administrator"))
		history = AgentRequest(
			self.agent, "What is a delivery note?", "Administrator", mode=Mode.INLINE, history=()
		)
		for run in (work_on(queued.name).run, run_agent(history).run):
			self.assertEqual(self.models_of(run), [self.models[0]])
			self.assertEqual(frappe.db.get_value("Agent Run", run, "tier"), 1)

	def test_run_stopped_at_its_step_limit_can_continue_in_the_background(self):
		self.set_settings(inline_steps=1)
		self.addCleanup(self.set_settings, inline_steps=5)
		self.small.script(tool_call(self.tool, {"limit": 1}), text("Not yet."), text("Now I know."))
		*_, last = stream_chat(self.agent, "What is there?")
		self.assertEqual(last.data["stop_reason"], "max_steps")
		frappe.db.commit()
		queued, refused = sorted(together([(try_to_continue, last.run)] * 2), key=str, reverse=True)
		self.assertIn("has gone on", refused)
		self.assertEqual(queued["conversation"], last.data["conversation"])
		self.assertEqual(work_on(queued["run"]).response, "Now I know.")

	def test_finished_run_cannot_be_continued(self):
		self.small.script(text("Done."))
		with self.assertRaises(UsageError):
			continue_in_background(run_agent_sync(self.agent, "What is this?")["run"])
