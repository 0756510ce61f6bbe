"""A run whose call needs approval makes a draft, waits without a worker, and resumes once it is answered."""

import json
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch

import frappe
from frappe.utils import now_datetime

from huf.ai.chat import approvals
from huf.ai.chat.approvals import approve_call, cancel_run, propose_again, reject_call
from huf.ai.core.errors import UsageError
from huf.ai.core.events import EventKind
from huf.ai.core.session import acting_as
from huf.ai.core.types import AgentRequest
from huf.ai.runs.entry import run_agent, stream_agent
from huf.ai.runs.queue import recover_runs, work_on
from huf.ai.runs.replay import replay
from huf.ai.tools.registry import tool
from huf.tests.doctypes import CUSTOMER, EDITOR, ORDER, controller
from huf.tests.drafting import DraftTestCase, Shop
from huf.tests.factories import make, make_tool, make_user, unique
from huf.tests.model_server import text, tool_call

LATER = timedelta(hours=1)


DONE: list[str] = []


@tool(effect="external")
def send_letter(to: str) -> str:
	"""Sends a letter."""
	DONE.append(f"letter to {to}")
	return "sent"


@tool(effect="external")
def close_account(to: str) -> str:
	"""Closes an account."""
	DONE.append(f"closed {to}")
	return "closed"


class TestOtherFunction(DraftTestCase):
	def test_approval_of_a_call_does_not_hold_for_another_function_of_its_tool(self):
		DONE.clear()
		paths = [f"{__name__}.{each.__name__}" for each in (send_letter, close_account)]
		name = make_tool("Custom Function", function_path=paths[0], effect="external", requires_approval=1)
		agent = self.make_agent(name)
		result = self.start(tool_call(name, {"to": "Anna"}), agent=agent)
		self.approve_call(result)
		doc = frappe.get_doc("Agent Tool Function", name)
		doc.update({"function_path": paths[1]}).save()
		outcome = self.go_on(result["run"])
		self.assertEqual((outcome.status.value, DONE), ("Waiting", []))


class TestWaiting(DraftTestCase):
	def test_draft_shows_the_difference_and_nothing_is_changed(self):
		result = self.start_change("new")
		self.assertEqual((result["success"], result["stop_reason"]), (False, None))
		card = result["draft"]
		(change,) = card["difference"]["changes"]
		field_info = {"fieldname": "note", "label": "Note", "fieldtype": "Text"}
		self.assertEqual(change["fields"], [{**field_info, "before": "old", "after": "new"}])
		self.assertEqual((card["tool"], card["approver"]), (self.update, self.user))
		row = self.draft(result)
		self.assertEqual((row.reference_doctype, row.reference_name), (ORDER, self.order.name))
		self.assertEqual((self.note(), self.calls(result["run"])), ("old", []))

	def test_waiting_run_has_no_worker_or_lease_and_is_not_recovered(self):
		result = self.start_change()
		run = frappe.get_doc("Agent Run", result["run"])
		self.assertEqual((run.status, run.worker, run.lease_until), ("Waiting", None, None))
		self.assertNotIn(run.name, recover_runs(now_datetime() + LATER))
		self.assertIsNone(work_on(run.name))

	def test_waiting_run_shows_what_it_has_used_so_far(self):
		run = self.start_change()["run"]
		used = frappe.db.get_value("Agent Run", run, ["total_tokens", "total_cost"])
		calls = frappe.get_all("Agent LLM Call", {"run": run}, ["input_tokens", "output_tokens", "cost"])
		tokens = sum(call.input_tokens + call.output_tokens for call in calls)
		self.assertGreater(tokens, 0)
		self.assertEqual(used, (tokens, sum(call.cost for call in calls)))

	def test_messages_sent_while_a_run_waits_are_queued_and_answered_in_order(self):
		result = self.start_change("new")
		with acting_as(self.user):
			request = AgentRequest(
				self.agent, "And the price?", self.user, conversation=result["conversation"]
			)
			[queued] = list(stream_agent(request))
			again = run_agent(replace(request, prompt="And the date?"))
		self.assertEqual((queued.kind, again.status.value), (EventKind.RUN_QUEUED, "Queued"))
		self.assertIsNone(work_on(queued.run))
		with acting_as(self.user):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.server.script(text("Changed."), text("It costs two."), text("Today."))
		self.assertEqual(self.go_on(result["run"]).response, "Changed.")
		self.assertEqual(work_on(queued.run).response, "It costs two.")
		prompts = [each["content"] for each in self.server.requests[-1]["messages"] if each["role"] == "user"]
		self.assertEqual(prompts, ["Change the order", "And the price?"])
		self.assertEqual(work_on(again.run).response, "Today.")
		sent = [
			each.get("content") for each in self.server.requests[-1]["messages"] if each["role"] != "tool"
		]
		texts = ["Changed.", "And the price?", "It costs two.", "And the date?"]
		self.assertEqual(sent[-6:], ["Change the order", None, *texts])
		self.assertTrue(replay(again.run).identical)

	def test_a_stream_ends_with_the_draft(self):
		self.server.script(self.change("new"))
		events = [e for e in stream_agent(AgentRequest(self.agent, "Change it", self.user, channel="s")) if e]
		self.assertEqual(
			[e.kind for e in events][-2:],
			[EventKind.DRAFT_CREATED, EventKind.RUN_WAITING],
		)
		self.assertEqual(events[-2].data["difference"]["changes"][0]["name"], self.order.name)
		self.assertEqual(events[-1].data["draft"], events[-2].data["draft"])

	def test_unpermitted_change_is_refused_to_the_model_and_creates_no_draft(self):
		reader = make_user("Huf User")
		result = self.start(self.change("new"), text("Sorry."), user=reader)
		self.assertEqual((result["status"], result["response"]), ("Success", "Sorry."))
		self.assertEqual(self.calls(result["run"]), [(self.update, "Refused")])
		self.assertIn("you may read", self.seen())
		self.assertEqual(frappe.db.count("Agent Draft", {"run": result["run"]}), 0)

	def test_a_controller_that_commits_is_refused(self):
		with controller(ORDER, on_update=lambda doc: frappe.db.commit()):
			result = self.start(self.change("new"), text("Sorry."))
		self.assertEqual(result["status"], "Success")
		self.assertIn(f"Saving {ORDER} commits by itself", self.seen())

	def test_preview_shows_a_log_doctype_if_the_tool_is_for_it(self):
		log = make("Notification Log", type="Alert", subject="old", for_user="Administrator").name
		frappe.db.commit()
		tool = make_tool("Update Document", reference_doctype="Notification Log", requires_approval=1)
		call = tool_call(tool, {"name": log, "values": {"subject": "new"}})
		result = self.start(call, text("Done."), agent=self.make_agent(tool), user="Administrator")
		(change,) = result["draft"]["difference"]["changes"]
		self.assertEqual([(f["before"], f["after"]) for f in change["fields"]], [("old", "new")])
		approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.go_on(result["run"])
		self.assertEqual(frappe.db.get_value("Notification Log", log, "subject"), "new")

	def test_read_tools_need_no_approval_and_an_agent_may_require_it_for_writes(self):
		find = make_tool("Get List", reference_doctype=ORDER, requires_approval=1)
		free = make_tool("Set Value", reference_doctype=ORDER)
		agent = self.make_agent(find, free)
		doc = frappe.get_doc("Agent", agent)
		doc.agent_tool[1].requires_approval = 1
		doc.save()
		frappe.db.commit()
		values = {"name": self.order.name, "fieldname": "note", "value": "new"}
		result = self.start(tool_call(find, {"limit": 1}), tool_call(free, values), agent=agent)
		self.assertEqual(result["draft"]["tool"], free)
		self.assertEqual(self.calls(result["run"]), [(find, "Success")])


class TestAnswers(DraftTestCase):
	def test_approved_change_is_applied_once_and_the_run_continues(self):
		result = self.start_change("new", "Changed.")
		self.assertEqual(self.approve_call(result)["status"], "Approved")
		self.assertEqual(self.note(), "old")
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, ended.response, ended.steps), ("Success", "Changed.", 2))
		self.assertEqual((self.note(), self.calls(result["run"])), ("new", [(self.update, "Success")]))
		row = self.draft(result)
		self.assertEqual((row.status, row.answered_by), ("Applied", self.user))
		self.assertEqual(json.loads(self.seen())["note"], "new")
		self.assertEqual(frappe.db.get_value(ORDER, self.order.name, "modified_by"), self.user)
		self.assertTrue(replay(result["run"]).identical)

	def test_rejected_change_is_not_applied_and_the_model_receives_the_reason(self):
		result = self.start_change("new", "All right.")
		with acting_as(self.user):
			reject_call(result["draft"]["draft"], reason="Ask Anna first")
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, self.note()), ("Success", "old"))
		self.assertIn("Ask Anna first", self.seen())
		self.assertEqual(self.calls(result["run"]), [(self.update, "Refused")])

	def test_approval_without_a_digest_is_refused(self):
		result = self.start_change("new")
		for nothing in ("", None):
			with acting_as(self.user), self.assertRaisesRegex(UsageError, "the digest"):
				approve_call(result["draft"]["draft"], nothing)
		self.assertEqual(self.draft(result).status, "Pending")

	def test_rejection_during_a_concurrent_approval_is_kept(self):
		result = self.start_change("new", "All right.")
		frappe.db.set_value(ORDER, self.order.name, "note", "other")
		frappe.db.commit()

		def reject_meanwhile(row, arguments):
			proposal = propose_again(row, arguments)
			frappe.db.rollback()
			reject_call(row.name, reason="Never")
			return proposal

		with patch.object(approvals, "propose_again", reject_meanwhile), self.assertRaises(UsageError):
			self.approve_call(result)
		row = self.draft(result)
		self.assertEqual((row.status, row.reason), ("Rejected", "Never"))
		self.go_on(result["run"])
		self.assertEqual(self.note(), "other")

	def test_approved_draft_fails_when_the_run_is_cancelled_before_the_call(self):
		result = self.start_change("new")
		self.approve_call(result)
		cancel_run(result["run"])
		self.assertEqual(self.go_on(result["run"]).status.value, "Cancelled")
		row = self.draft(result)
		self.assertEqual((row.status, row.result), ("Failed", "The run ended before it was done."))
		self.assertEqual(self.note(), "old")

	def test_draft_of_a_waiting_run_cannot_be_deleted(self):
		result = self.start_change("new")
		with self.assertRaisesRegex(UsageError, "waits for this draft"):
			frappe.delete_doc("Agent Draft", result["draft"]["draft"])
		frappe.db.rollback()
		cancel_run(result["run"])
		self.go_on(result["run"])
		frappe.delete_doc("Agent Draft", result["draft"]["draft"])

	def test_approval_is_refused_with_a_new_difference_when_the_document_changed(self):
		result = self.start_change("new", "Done.")
		with acting_as(self.user):
			doc = frappe.get_doc(ORDER, self.order.name)
			doc.update({"note": "other"}).save()
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "Look at it again"):
			self.approve_call(result)
		row = self.draft(result)
		(field,) = json.loads(row.difference)["changes"][0]["fields"]
		self.assertEqual((row.status, field["before"], field["after"]), ("Pending", "other", "new"))
		with self.assertRaisesRegex(UsageError, "Look at it again"):
			self.approve_call(result)
		with acting_as(self.user):
			approve_call(row.name, row.digest)
		self.go_on(result["run"])
		self.assertEqual(self.note(), "new")

	def test_document_that_changed_elsewhere_does_not_prevent_the_approval(self):
		draft = self.draft(self.start_change())
		self.order.reload()
		self.order.update({"status": "Paid"})
		self.order.save()
		frappe.db.commit()
		with acting_as(self.user):
			approved = approvals.approve_call(draft.name, draft.digest)
		self.assertEqual(approved["status"], "Approved")

	def test_approved_change_with_a_different_outcome_needs_approval_again(self):
		result = self.start_change("new", "Done.")
		self.approve_call(result)
		frappe.db.set_value(CUSTOMER, "Anna", "city", "Zlín")
		self.addCleanup(frappe.db.commit)
		self.addCleanup(frappe.db.set_value, CUSTOMER, "Anna", "city", "Brno")
		again = self.go_on(result["run"])
		self.assertEqual((again.status.value, self.note()), ("Waiting", "old"))
		row = self.draft(result)
		changed = {f["fieldname"]: f["after"] for f in json.loads(row.difference)["changes"][0]["fields"]}
		self.assertEqual((row.status, row.answered_by, changed["city"]), ("Pending", None, "Zlín"))
		with acting_as(self.user):
			approve_call(row.name, row.digest)
		self.assertEqual(self.go_on(result["run"]).status.value, "Success")

	def test_approved_call_fails_when_its_document_was_deleted(self):
		result = self.start_change("new", "Oh.")
		self.approve_call(result)
		frappe.delete_doc(ORDER, self.order.name, force=True)
		ended = self.go_on(result["run"])
		self.assertEqual((ended.status.value, ended.response), ("Success", "Oh."))
		self.assertEqual(self.draft(result).status, "Failed")
		self.assertEqual(self.calls(result["run"]), [(self.update, "Failed")])

	def test_rejection_holds_after_the_tool_no_longer_requires_approval(self):
		result = self.start_change("new", "All right.")
		frappe.db.set_value("Agent Tool Function", self.update, "requires_approval", 0)
		with acting_as(self.user):
			reject_call(result["draft"]["draft"])
		self.go_on(result["run"])
		self.assertEqual((self.note(), self.calls(result["run"])), ("old", [(self.update, "Refused")]))

	def test_drafts_of_a_disabled_agent_can_only_be_rejected(self):
		result = self.start(self.change("new"))
		frappe.get_doc("Agent", self.agent).update({"disabled": 1}).save()
		frappe.db.commit()
		with self.assertRaisesRegex(UsageError, "is disabled"):
			self.approve_call(result)
		self.assertEqual(self.draft(result).status, "Pending")
		reject_call(result["draft"]["draft"])
		ended = self.go_on(result["run"])
		self.assertEqual(ended.status.value, "Failed")
		self.assertIn("is disabled", ended.error)

	def test_calls_of_an_agent_whose_approver_is_disabled_wait_for_a_manager(self):
		approver = make_user("Huf User")
		agent = self.make_agent(self.update, approver=approver)
		frappe.get_doc("User", approver).update({"enabled": 0}).save()
		frappe.db.commit()
		draft = self.start(self.change("new"), agent=agent)["draft"]
		self.assertIsNone(draft["approver"])
		with acting_as(self.user), self.assertRaises(frappe.PermissionError):
			approvals.approve_call(draft["draft"], draft["digest"])

	def test_approver_without_a_role_cannot_approve(self):
		approver = make_user("Huf User")
		draft = self.start(self.change("new"), agent=self.make_agent(self.update, approver=approver))["draft"]
		self.assertEqual(draft["approver"], approver)
		doc = frappe.get_doc("User", approver)
		doc.roles = []
		doc.save()
		frappe.db.commit()
		with acting_as(approver), self.assertRaises(frappe.PermissionError):
			approve_call(draft["draft"], draft["digest"])

	def test_waiting_run_resumes_after_its_model_was_renamed(self):
		result = self.start_change("new", "Changed.")
		new = unique("renamed")
		frappe.rename_doc("AI Model", frappe.db.get_value("Agent", self.agent, "model"), new)
		frappe.db.commit()
		with acting_as(self.user):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		ended = self.go_on(result["run"])
		self.assertEqual((ended.response, ended.model, self.note()), ("Changed.", new, "new"))

	def test_approved_change_uses_the_permissions_of_the_run_user(self):
		result = self.start_change("new", "Oh.")
		manager = make_user("Huf Manager")
		user = frappe.get_doc("User", self.user)
		user.set("roles", [row for row in user.roles if row.role != EDITOR])
		user.save()
		frappe.db.commit()
		with acting_as(manager):
			approve_call(result["draft"]["draft"], result["draft"]["digest"])
		self.go_on(result["run"])
		self.assertEqual((self.note(), self.draft(result).status), ("old", "Failed"))


class TestOutside(DraftTestCase):
	def test_http_request_draft_masks_secrets_and_is_sent_once_as_approved(self):
		with Shop() as shop:
			order = make_tool(
				"POST",
				base_url=shop.url,
				allow_private_hosts=1,
				requires_approval=1,
				headers=[{"header": "X-Key", "value": "SECRET-KEY"}],
			)
			agent = self.make_agent(order)
			arguments = {"url": "/orders", "params": {"a": 1}, "body": {"item": 1}}
			result = self.start(tool_call(order, arguments), text("Ordered."), agent=agent)
			self.assertEqual(
				result["draft"]["difference"]["request"],
				{
					"method": "POST",
					"url": f"{shop.url}/orders?a=1",
					"headers": {"X-Key": "•••"},
					"body": {"item": 1},
				},
			)
			self.assertEqual((shop.bodies, self.calls(result["run"])), ([], []))
			with acting_as(self.user):
				approve_call(
					result["draft"]["draft"],
					result["draft"]["digest"],
					arguments={**arguments, "body": {"item": 2}},
				)
			ended = self.go_on(result["run"])
			self.assertEqual((ended.response, shop.bodies), ("Ordered.", [{"item": 2}]))
		self.assertEqual(self.calls(result["run"]), [(order, "Success")])
		self.assertEqual(self.draft(result).status, "Applied")
