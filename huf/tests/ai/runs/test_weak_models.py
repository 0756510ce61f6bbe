"""With Ask Before Writes of an AI Model, every write waits for approval, whatever the tool says."""

import json

import frappe

from huf.ai.chat.approvals import approve_call, reject_call
from huf.ai.runs.entry import run_agent_sync
from huf.tests.doctypes import ORDER
from huf.tests.drafting import DraftTestCase
from huf.tests.factories import make_agent, make_model, make_tool, unique
from huf.tests.model_server import call, text, tool_call, tool_calls


class TestAskBeforeWrites(DraftTestCase):
	def setUp(self):
		super().setUp()
		self.model = make_model(self.server, ask_before_writes=1)
		self.create = make_tool("Create Document", reference_doctype=ORDER)
		self.change_tool = make_tool("Update Document", reference_doctype=ORDER)
		self.look = make_tool("Get List", reference_doctype=ORDER)
		self.note_text = unique("note")
		self.weak = self.make_weak()

	def make_weak(self, **values) -> str:
		return make_agent(self.model, (self.create, self.change_tool, self.look), **values)

	def arguments(self, note: str | None = None) -> dict:
		return {"customer": "Anna", "note": note or self.note_text}

	def write(self, note: str | None = None) -> dict:
		return tool_call(self.create, self.arguments(note))

	def plan(self, tool: str, arguments: dict | None = None) -> dict:
		return text(json.dumps({"tool": tool, "arguments": arguments or {}}))

	def count_created(self) -> int:
		frappe.db.rollback()
		return frappe.db.count(ORDER, {"note": self.note_text})

	def drafts(self, run: str) -> int:
		return frappe.db.count("Agent Draft", {"run": run})

	def answer(self, result: dict, decide=approve_call) -> None:
		frappe.set_user(self.user)
		for card in result["drafts"]:
			args = (card["draft"], card["digest"]) if decide is approve_call else (card["draft"],)
			decide(*args)
		frappe.set_user("Administrator")

	def test_write_waits_for_approval_and_read_does_not(self):
		result = self.start(tool_call(self.look, {"limit": 1}), self.write(), text("Done."), agent=self.weak)
		self.assertEqual((result["status"], self.count_created()), ("Waiting", 0))
		self.assertEqual(self.calls(result["run"]), [(self.look, "Success")])
		self.answer(result)
		self.assertEqual((self.go_on(result["run"]).response, self.count_created()), ("Done.", 1))

	def test_write_waits_for_approval_in_planner_mode_and_runs_once(self):
		plan = self.plan(self.create, self.arguments())
		agent = self.make_weak(tool_mode="Planner")
		result = self.start(plan, plan, text("Done."), agent=agent)
		self.assertEqual((result["status"], self.count_created()), ("Waiting", 0))
		self.answer(result)
		# The second plan repeats the call: it is neither shown nor executed, and the run stalls.
		self.assertEqual((self.go_on(result["run"]).response, self.count_created()), ("Done.", 1))
		self.assertEqual(self.drafts(result["run"]), 1)

	def test_identical_calls_of_a_turn_share_one_draft_and_run_once(self):
		same = [call(self.create, self.arguments()) for _ in range(3)]
		other = call(self.create, self.arguments("another"))
		result = self.start(tool_calls([*same, other]), text("Done."), agent=self.weak)
		self.assertEqual((len(result["drafts"]), self.count_created()), (2, 0))
		self.answer(result)
		self.assertEqual((self.go_on(result["run"]).response, self.count_created()), ("Done.", 1))
		self.assertEqual(self.calls(result["run"]), [(self.create, "Success")] * 4)
		results = [each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "tool"]
		self.assertEqual(results[0], results[1])
		self.assertEqual(results[1], results[2])

	def test_a_refusal_holds_for_identical_calls_of_the_turn(self):
		same = [call(self.create, self.arguments()) for _ in range(2)]
		result = self.start(tool_calls(same), text("Not done."), agent=self.weak)
		self.answer(result, reject_call)
		self.assertEqual((self.go_on(result["run"]).response, self.count_created()), ("Not done.", 0))
		self.assertEqual((self.drafts(result["run"]), len(self.calls(result["run"]))), (1, 2))

	def test_identical_call_is_not_run_when_approval_edited_the_first_one(self):
		same = [call(self.create, self.arguments()) for _ in range(2)]
		result = self.start(tool_calls(same), text("Done."), agent=self.weak)
		[card] = result["drafts"]
		frappe.set_user(self.user)
		approve_call(card["draft"], card["digest"], self.arguments("edited"))
		ended = self.go_on(result["run"])
		self.assertEqual((ended.response, self.count_created(), self.drafts(result["run"])), ("Done.", 0, 1))

	def test_repeated_write_after_another_change_needs_approval_again(self):
		change = {"name": self.order.name, "values": {"note": "new"}}
		back = {"name": self.order.name, "values": {"note": "old"}}
		turns = [tool_call(self.change_tool, each) for each in (change, back, change)]
		result = self.start(*turns, text("Done."), agent=self.weak)
		for note in ("old", "new", "old"):
			self.assertEqual((result["status"], self.note()), ("Waiting", note))
			self.answer(result)
			result = self.go_on(result["run"]).as_dict()
		self.assertEqual((result["status"], self.note()), ("Success", "new"))

	def test_call_with_invalid_arguments_is_refused_without_a_draft(self):
		result = self.start(tool_call(self.create, {"color": "red"}), text("Not done."), agent=self.weak)
		self.assertEqual((result["status"], self.count_created()), ("Success", 0))
		self.assertEqual(self.calls(result["run"]), [(self.create, "Refused")])

	def test_setting_ask_before_writes_applies_to_the_next_run(self):
		frappe.get_doc("AI Model", self.model).update({"ask_before_writes": 0}).save()
		unapproved = self.start(self.write(), text("Done."), agent=self.weak)
		self.assertEqual((unapproved["status"], self.count_created()), ("Success", 1))
		frappe.get_doc("AI Model", self.model).update({"ask_before_writes": 1}).save()
		frappe.db.commit()
		self.assertEqual(self.start(self.write(), agent=self.weak)["status"], "Waiting")
		self.assertEqual(self.count_created(), 1)

	def test_model_chosen_for_the_run_decides_about_approval(self):
		other = make_agent(make_model(self.server), (self.create,))
		self.server.script(self.write())
		result = run_agent_sync(other, "Write", model=self.model)
		self.assertEqual((result["status"], self.count_created()), ("Waiting", 0))

	def test_writes_wait_for_approval_after_escalation_to_a_weak_model(self):
		strong = make_model(self.server)
		settings = frappe.get_doc("Huf Settings")
		settings.update({"tier1_model": strong, "tier2_model": self.model}).save()
		frappe.db.commit()
		self.addCleanup(self.clear_tiers)
		agent = make_agent(None, (self.look, self.create), choose_by_task=1)
		self.server.script(*[tool_call(self.look, {"limit": 1})] * 2, self.write())
		result = run_agent_sync(agent, "What is there?")
		self.assertEqual((result["status"], self.count_created()), ("Waiting", 0))

	def clear_tiers(self) -> None:
		frappe.db.rollback()
		frappe.set_user("Administrator")
		frappe.get_doc("Huf Settings").update({"tier1_model": None, "tier2_model": None}).save()
		frappe.db.commit()
