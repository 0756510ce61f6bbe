"""Runs rated good or bad become eval cases, and changes of an agent wait until its cases pass."""

import frappe

from huf.ai.agents.manager import AgentManager
from huf.ai.chat.approvals import approve_call, reject_call
from huf.ai.core.errors import ToolError, UsageError
from huf.ai.core.session import acting_as
from huf.ai.evals import pending_changes
from huf.ai.evals.runner import RECORDED
from huf.ai.runs.entry import run_agent_sync
from huf.ai.runs.queue import work_on
from huf.ai.tools.registry import tool
from huf.api import eval as api
from huf.tests.ai.evals.test_evaluation import EvalTestCase
from huf.tests.factories import make, make_agent, make_file, make_model, make_tool, make_user, unique
from huf.tests.model_server import ModelServer, text, tool_call


@tool(effect="external")
def send_parcel(to: str) -> str:
	"""Send a parcel to a town."""
	if to == "Nowhere":
		raise ToolError("There is no such town.")
	return f"Sent to {to}."


def approve(draft) -> None:
	approve_call(draft.name, draft.digest)


class TestMarking(EvalTestCase):
	def setUp(self):
		super().setUp()
		with ModelServer() as server:
			frappe.db.set_value("Agent", self.agent, "model", make_model(server))
			frappe.db.commit()
			server.script(tool_call(self.create, {"description": self.description}), text("It is noted."))
			self.run_name = run_agent_sync(self.agent, "Note it.")["run"]

	def test_the_case_of_a_good_run_passes_only_if_the_agent_does_the_same(self):
		marked = api.mark(self.run_name, True)
		frappe.db.commit()
		case = frappe.get_doc("Agent Eval Case", marked["case"])
		self.assertEqual((case.prompt, case.verdict, case.run), ("Note it.", "Good", self.run_name))
		self.assertEqual(self.faults(), [])
		self.assertEqual(len(self.faults(model="Offline")), 1)
		self.assertEqual(frappe.db.get_value("Agent Run", self.run_name, "verdict"), "Good")

	def test_the_case_of_a_run_with_a_file_has_its_text(self):
		file = make_file("note.txt", "Call Anna.")
		frappe.db.set_value("Agent", self.agent, "model", None)
		run = run_agent_sync(self.agent, "Read this.", attachments=[file])["run"]
		case = api.mark(run, False)["case"]
		prompt = frappe.db.get_value("Agent Eval Case", case, "prompt")
		self.assertTrue(prompt.startswith("Read this.") and "Call Anna." in prompt, prompt)

	def test_the_case_of_a_bad_run_fails_only_if_the_agent_does_the_same(self):
		api.mark(self.run_name, False, "It should have asked first.")
		frappe.db.commit()
		self.assertEqual(self.faults(), ["it did the same again"])
		self.assertEqual(self.faults(model="Offline"), [])

	def test_the_case_of_a_run_whose_external_call_failed_has_the_results_of_its_calls_in_their_order(self):
		send = make_tool("Custom Function", function_path=f"{__name__}.send_parcel")
		with ModelServer() as server:
			self.agent = make_agent(make_model(server), (send,))
			turns = [tool_call(send, {"to": town}) for town in ("Nowhere", "Rome")]
			server.script(*turns, text("Sent to Rome."))
			run = run_agent_sync(self.agent, "Send it to Nowhere, or to Rome.")
		api.mark(run["run"], True)
		frappe.db.commit()
		(attempt,) = self.run_cases().results[0].attempts
		self.assertEqual(attempt.faults, ())
		failed, sent = (call.result for call in attempt.trace.calls)
		self.assertIn("no such town", failed)
		self.assertIn("Sent to Rome", sent)

	def test_the_case_of_a_run_with_a_rejected_external_call_rejects_it_again(self):
		send = make_tool("Custom Function", function_path=f"{__name__}.send_parcel", requires_approval=1)
		with ModelServer() as server:
			self.agent = make_agent(make_model(server), (send,))
			turns = [tool_call(send, {"to": town}) for town in ("Oslo", "Rome")]
			server.script(*turns, text("Sent to Rome."))
			run = run_agent_sync(self.agent, "Send it to Oslo, or to Rome.")["run"]
			for answer in (lambda draft: reject_call(draft.name, draft.digest, "Too far."), approve):
				answer(frappe.get_last_doc("Agent Draft", {"run": run, "status": "Pending"}))
				work_on(run)
		case = api.mark(run, True)["case"]
		frappe.db.commit()
		(attempt,) = self.run_cases().results[0].attempts
		self.assertEqual(attempt.faults, ())
		rejected, sent = attempt.trace.calls
		self.assertEqual((rejected.ok, sent.ok), (False, True))
		self.assertIn("rejected it: Too far. It was not done.", rejected.result)
		doc = frappe.get_doc("Agent Eval Case", case)
		doc.definition += f"- fails: {send}\n  error: too far\n- fails: {send}\n  error: is missing\n"
		doc.save()
		(fault,) = self.faults()
		self.assertIn("is missing", fault)

	def test_marking_a_run_again_updates_its_case(self):
		first = api.mark(self.run_name, True)["case"]
		self.assertEqual(api.mark(self.run_name, False)["case"], first)
		self.assertEqual(frappe.db.count("Agent Eval Case", {"agent": self.agent}), 1)

	def test_a_user_who_may_not_change_the_agent_makes_a_disabled_case_and_replaces_none(self):
		user = make_user("Huf User")
		frappe.db.set_value("Agent Run", self.run_name, "owner", user)
		frappe.db.commit()
		with acting_as(user):
			case = api.mark(self.run_name, False, "Wrong.")["case"]
		self.assertTrue(frappe.db.get_value("Agent Eval Case", case, "disabled"))
		self.assertEqual(api.mark(self.run_name, True)["case"], case)
		with acting_as(user):
			api.mark(self.run_name, False, "Still wrong.")
			api.rate(self.run_name, "Bad")
		self.assertEqual(frappe.db.get_value("Agent Eval Case", case, "verdict"), "Good")
		self.assertEqual(frappe.db.get_value("Agent Run", self.run_name, "verdict"), "Bad")

	def test_the_case_of_a_managers_run_reads_no_more_than_the_manager_when_a_system_manager_runs_it(self):
		secret = make("Note", title=unique("Minutes"), content="<p>4711</p>", public=0)
		read = make_tool("Get Document", reference_doctype="Note")
		manager = make_user("Huf Manager")
		with ModelServer() as server:
			self.agent = make_agent(make_model(server), (read,))
			server.script(tool_call(read, {"name": secret.name}), text("I may not read it."))
			with acting_as(manager):
				run = run_agent_sync(self.agent, "Read the minutes.")["run"]
				case = api.mark(run, True)["case"]
				frappe.db.commit()
		self.assertNotIn("4711", str(self.run_cases().results))
		self.assertEqual(frappe.db.get_value("Agent Eval Case", case, "modified_by"), manager)

	def test_a_long_note_is_shortened(self):
		case = api.mark(self.run_name, False, "x" * 100_000)["case"]
		self.assertEqual(frappe.db.get_value("Agent Eval Case", case, "note"), "x" * 999 + "…")

	def test_a_rating_makes_no_case_and_can_be_removed(self):
		self.assertEqual(api.rate(self.run_name, "Bad", "Too long."), {"case": None, "verdict": "Bad"})
		stored = frappe.db.get_value("Agent Run", self.run_name, ["verdict", "verdict_note"])
		self.assertEqual(tuple(stored), ("Bad", "Too long."))
		self.assertFalse(frappe.db.exists("Agent Eval Case", {"run": self.run_name}))
		api.rate(self.run_name, "")
		self.assertFalse(frappe.db.get_value("Agent Run", self.run_name, "verdict"))
		with self.assertRaises(UsageError):
			api.rate(self.run_name, "Splendid")

	def test_rating_a_run_updates_the_verdict_of_its_case(self):
		case = api.mark(self.run_name, False)["case"]
		self.assertEqual(api.rate(self.run_name, "Good")["case"], case)
		self.assertEqual(frappe.db.get_value("Agent Eval Case", case, "verdict"), "Good")

	def test_marking_a_run_requires_read_permission(self):
		user = make_user("Huf User")
		with acting_as(user), self.assertRaises(frappe.PermissionError):
			api.mark(self.run_name, True)
		frappe.db.set_value("Agent Run", self.run_name, "owner", user)
		with acting_as(user):
			self.assertTrue(api.mark(self.run_name, True)["case"])

	def test_an_unfinished_run_cannot_be_marked(self):
		frappe.db.set_value("Agent Run", self.run_name, "status", "Started")
		with self.assertRaisesRegex(UsageError, "has not come to its end"):
			api.mark(self.run_name, True)


class TestHolding(EvalTestCase):
	def setUp(self):
		super().setUp()
		self.case({"says": "yes"}, answers=[{"say": "Yes."}])
		self.save(hold_changes=1)

	def save(self, **values):
		frappe.get_doc("Agent", self.agent).update(values).save()
		frappe.db.commit()

	def instructions(self) -> str:
		return frappe.db.get_value("Agent", self.agent, "instructions")

	def test_changed_instructions_are_held_and_other_fields_are_saved(self):
		self.save(instructions="Say yes.", description="New")
		self.assertEqual(self.instructions(), "You are an agent under test.")
		self.assertEqual(frappe.db.get_value("Agent", self.agent, "description"), "New")
		self.assertEqual(api.get_cases(self.agent)["waiting"], {"instructions": "Say yes."})

	def test_held_changes_are_applied_only_if_the_cases_pass(self):
		with ModelServer() as server:
			model = make_model(server)
			self.save(instructions="Say yes.", model=model)
			server.script(text("No."), text("Yes."))
			self.assertFalse(pending_changes.try_changes(self.agent).applied)
			self.assertEqual(self.instructions(), "You are an agent under test.")
			self.assertTrue(pending_changes.try_changes(self.agent).applied)
			self.assertTrue(server.requests[0]["messages"][0]["content"].endswith("\n\nSay yes."))
		agent = frappe.get_doc("Agent", self.agent)
		self.assertEqual((agent.instructions, agent.model, agent.pending_changes), ("Say yes.", model, None))

	def test_evals_with_another_model_or_recorded_answers_apply_no_changes(self):
		self.save(instructions="Say yes.")
		for model in (RECORDED, "Offline"):
			self.assertFalse(pending_changes.try_changes(self.agent, model=model).applied)
		self.assertEqual(self.instructions(), "You are an agent under test.")

	def test_an_agent_is_made_with_its_stored_instructions_after_an_eval_of_others(self):
		self.save(instructions="Say yes.")
		pending_changes.try_changes(self.agent, model=RECORDED)
		self.assertEqual(AgentManager(self.agent).prepare_agent().instructions, self.instructions())

	def test_saving_the_agent_cannot_overwrite_pending_changes(self):
		self.save(instructions="Say yes.")
		self.save(pending_changes="[")
		self.assertEqual(api.get_cases(self.agent)["waiting"], {"instructions": "Say yes."})

	def test_pending_changes_can_be_discarded(self):
		self.save(instructions="Say yes.")
		api.discard_changes(self.agent)
		self.assertEqual(pending_changes.read_pending_changes(self.agent), {})
		with self.assertRaisesRegex(UsageError, "no pending changes"):
			pending_changes.try_changes(self.agent)

	def test_changes_apply_at_once_after_hold_changes_is_turned_off(self):
		self.save(hold_changes=0, instructions="Say yes.")
		self.assertEqual(self.instructions(), "Say yes.")

	def test_the_background_job_stores_results_on_the_cases(self):
		pending_changes.run_job(self.agent, 2, RECORDED, None)
		(case,) = api.get_cases(self.agent)["cases"]
		self.assertEqual((case.passed, case.times, case.last_model), (2, 2, RECORDED))

	def test_cases_require_write_permission_on_the_agent(self):
		with acting_as(make_user("Huf User")):
			for call in (api.get_cases, api.run, api.discard_changes):
				with self.assertRaises(frappe.PermissionError):
					call(self.agent)
