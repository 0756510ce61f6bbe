"""Agents whose model and mode are chosen by task: the right model first, a larger one where it does not get
on.
"""

import frappe

from huf.ai.agents.manager import ModelTiers
from huf.ai.chat.approvals import cancel_run
from huf.ai.chat.messages import continue_in_background, stream_chat
from huf.ai.core.errors import UsageError
from huf.ai.queries.runs import describe_runs
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.runs.replay import replay
from huf.ai.runs.stopping import stop
from huf.tests.ai.routing.test_tiers import SEVERAL
from huf.tests.base import SiteTestCase, enter
from huf.tests.factories import make_agent, make_model, make_tool, remove_stops
from huf.tests.model_server import ModelServer, error, text, tool_call

LADDER = {1: "small", 2: "large", 3: "cloud"}


class TestLadder(SiteTestCase):
	def test_the_smallest_model_that_is_large_enough_is_asked_first(self):
		self.assertEqual(
			[ModelTiers(LADDER, tier).first() for tier in (1, 2, 3)], ["small", "large", "cloud"]
		)

	def test_without_a_model_of_the_tier_the_next_one_of_the_house_is(self):
		self.assertEqual(ModelTiers({2: "large", 3: "cloud"}, 1).first(), "large")
		self.assertEqual(ModelTiers({1: "small", 3: "cloud"}, 2).first(), "small")

	def test_the_cloud_is_asked_where_there_is_nothing_else(self):
		self.assertEqual(ModelTiers({3: "cloud"}, 1).first(), "cloud")

	def test_a_run_that_does_not_get_on_stays_in_the_house(self):
		tiers = ModelTiers(LADDER, 1)
		tiers.first()
		self.assertEqual([tiers.next(False), tiers.next(False)], ["large", None])

	def test_the_cloud_stands_in_for_a_house_that_is_down(self):
		tiers = ModelTiers(LADDER, 1)
		tiers.first()
		self.assertEqual([tiers.next(True), tiers.next(True), tiers.next(True)], ["large", "cloud", None])


class TestRunsByTask(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.small, self.large = enter(self, ModelServer()), enter(self, ModelServer())
		self.models = [make_model(server) for server in (self.small, self.large)]
		frappe.db.commit()
		self.put(tier1_model=self.models[0], tier2_model=self.models[1])
		self.addCleanup(self.put, tier1_model=None, tier2_model=None)
		self.tool = make_tool("Get List", reference_doctype="ToDo")
		self.agent = make_agent(None, (self.tool,), choose_by_task=1)

	def put(self, **values):
		frappe.db.rollback()
		settings = frappe.get_doc("Huf Settings")
		settings.update({"model_retries": 0 if any(values.values()) else 2, **values})
		settings.save()
		frappe.db.commit()

	def models_of(self, run: str) -> list[str]:
		return frappe.get_all(
			"Agent LLM Call", {"run": run}, pluck="model", order_by="step asc, creation asc"
		)

	def test_a_simple_wish_is_for_the_small_model(self):
		self.small.script(text("A paper."))
		result = run_agent_sync(self.agent, "What is a delivery note?")
		self.assertEqual((result["response"], result["model"]), ("A paper.", self.models[0]))
		self.assertEqual(frappe.db.get_value("Agent Run", result["run"], ["mode", "tier"]), ("Inline", 1))

	def test_a_run_that_stalls_goes_on_with_the_next_tier_unseen_but_on_record(self):
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

	def test_a_run_does_not_change_to_a_provider_that_is_stopped(self):
		self.addCleanup(remove_stops)
		stop("Provider", frappe.db.get_value("AI Model", self.models[1], "provider"), "It leaks")
		self.small.script(error(503, "down"))
		result = run_agent_sync(self.agent, "What is a delivery note?")
		self.assertEqual((result["status"], self.large.requests), ("Queued", []))
		cancel_run(result["run"])

	def test_a_model_that_is_down_is_stood_in_for(self):
		self.small.script(error(503, "down"))
		self.large.script(text("I am here."))
		self.assertEqual(run_agent_sync(self.agent, "Hello?")["response"], "I am here.")

	def test_the_last_tier_is_told_to_answer_when_it_stalls_too(self):
		self.small.script(*[tool_call(self.tool, {"limit": 1})] * 2)
		self.large.script(*[tool_call(self.tool, {"limit": 2})] * 2, text("All I have."))
		result = run_agent_sync(self.agent, "What is there?")
		self.assertEqual((result["stop_reason"], result["response"]), ("stalled", "All I have."))
		self.assertTrue(replay(result["run"]).identical)

	def test_a_long_task_of_a_chat_is_queued_and_has_more_steps(self):
		events = list(stream_chat(self.agent, SEVERAL[0]))
		self.assertEqual([event.kind.value for event in events], ["run_queued"])
		self.large.script(
			*[tool_call(self.tool, {"limit": 1, "filters": {"name": str(n)}}) for n in range(2)],
			text("Done."),
		)
		self.assertEqual(work_on(events[0].run).response, "Done.")
		self.assertEqual(frappe.db.get_value("Agent Run", events[0].run, "mode"), "Background")

	def test_a_run_that_used_up_its_steps_goes_on_in_the_background(self):
		self.put(inline_steps=1)
		self.addCleanup(self.put, inline_steps=5)
		self.small.script(tool_call(self.tool, {"limit": 1}), text("Not yet."), text("Now I know."))
		*_, last = stream_chat(self.agent, "What is there?")
		self.assertEqual(last.data["stop_reason"], "max_steps")
		queued = continue_in_background(last.run)
		self.assertEqual(queued["conversation"], last.data["conversation"])
		self.assertEqual(work_on(queued["run"]).response, "Now I know.")

	def test_a_run_that_came_to_its_end_does_not_go_on(self):
		self.small.script(text("Done."))
		with self.assertRaises(UsageError):
			continue_in_background(run_agent_sync(self.agent, "What is this?")["run"])
