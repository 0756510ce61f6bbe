"""Approvals over A2A, and clients of version 0.3."""

import frappe
from a2a.utils.errors import A2AError

from huf.tests.api.a2a_test import COMPLETED, A2ATestCase
from huf.tests.api.test_openai import SECRET, make_key
from huf.tests.factories import make_user
from huf.tests.http import send
from huf.tests.model_server import text


class TestApproval(A2ATestCase):
	def test_approver_receives_the_diff_and_approves_by_digest(self):
		task, approval = self.ask_for_change(text("Changed."))
		self.assertIn("new", str(approval["difference"]))
		with self.assertRaisesRegex(A2AError, "data part"):
			self.ask("Yes, do it", task_id=task.id)
		with self.assertRaisesRegex(A2AError, "changed"):
			self.ask({**approval, "digest": "of another change", "approve": True}, task_id=task.id)
		self.assertEqual(self.note(), "old")
		done = self.ask(
			{"draft": approval["draft"], "digest": approval["digest"], "approve": True}, task_id=task.id
		)
		self.assertEqual((done.status.state, done.artifacts[0].parts[0].text), (COMPLETED, "Changed."))
		self.assertEqual(self.note(), "new")
		with self.assertRaisesRegex(A2AError, "waits for no answer"):
			self.ask({**approval, "approve": True}, task_id=task.id)

	def test_an_answer_with_the_context_of_another_task_is_refused(self):
		self.server.script(text("Yes."))
		other = self.ask("Yes?")
		task, approval = self.ask_for_change(text("Then not."))
		answer = {"draft": approval["draft"], "digest": approval["digest"], "approve": False}
		for streaming in (False, True):
			with self.assertRaisesRegex(A2AError, "another contextId"):
				self.send(answer, task_id=task.id, context_id=other.context_id, streaming=streaming)
		self.assertEqual(frappe.db.get_value("Agent Draft", approval["draft"], "status"), "Pending")
		done = self.ask(answer, task_id=task.id, context_id=task.context_id)
		self.assertEqual(done.status.state, COMPLETED)

	def test_cmd_field_in_the_request_is_not_executed(self):
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}", "A2A-Version": "1.0"}
		body = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}, "cmd": "frappe.ping"}
		answer = send(self.address(), method="POST", json=body, headers=headers).json
		self.assertEqual(answer["error"]["code"], -32600)

	def call(self, method: str, **params) -> dict:
		"""The result of a request that names no version."""
		headers = {"Authorization": f"Bearer {make_key(self.user)}:{SECRET}"}
		body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
		return send(self.address(), method="POST", json=body, headers=headers).json["result"]

	def test_a_method_of_version_1_0_needs_no_header(self):
		self.server.script(text("Anna."))
		message = {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "Who?"}]}
		task = self.call("SendMessage", message=message)["task"]
		self.assertEqual(task["artifacts"][0]["parts"][0]["text"], "Anna.")
		self.assertEqual(self.call("GetTask", id=task["id"])["status"]["state"], "TASK_STATE_COMPLETED")

	def test_a_client_of_version_0_3_asks_and_approves(self):
		self.server.script(self.change("new"), text("Changed."))
		message = {"kind": "message", "messageId": "1", "role": "user"}
		asked = {**message, "parts": [{"kind": "text", "text": "Change the order"}]}
		waiting = self.call("message/send", message=asked)
		self.assertEqual((waiting["kind"], waiting["status"]["state"]), ("task", "input-required"))
		self.assertEqual(waiting["history"][0]["parts"][0]["text"], "Change the order")
		approval = waiting["status"]["message"]["parts"][1]["data"]
		approval = {"draft": approval["draft"], "digest": approval["digest"], "approve": True}
		answer = {**message, "taskId": waiting["id"], "parts": [{"kind": "data", "data": approval}]}
		done = self.call("message/send", message=answer)
		self.assertEqual(
			(done["status"]["state"], done["artifacts"][0]["parts"][0]["text"]), ("completed", "Changed.")
		)
		self.assertEqual(self.call("tasks/get", id=done["id"])["status"]["state"], "completed")
		self.assertEqual(self.note(), "new")

	def test_rejection_is_streamed_until_the_task_completes(self):
		task, approval = self.ask_for_change(text("Then not."))
		answer = {
			"draft": approval["draft"],
			"digest": approval["digest"],
			"approve": False,
			"reason": "Too late",
		}
		responses = self.send(answer, task_id=task.id, streaming=True)
		self.assertEqual(responses[-1].status_update.status.state, COMPLETED)
		self.assertIn("Too late", self.seen())
		self.assertEqual(self.note(), "old")

	def test_approval_by_a_user_who_is_not_the_approver_is_refused(self):
		self.agent = self.make_agent(self.update, approver=make_user("Huf User"))
		task, approval = self.ask_for_change()
		with self.assertRaisesRegex(A2AError, "may answer"):
			self.ask({**approval, "approve": True}, task_id=task.id)
		self.assertEqual(self.note(), "old")
