"""Everyday agent jobs with records, files and other agents, set up over REST as the pages do.

Each test counts its set-up requests. Jobs with mail, knowledge and the web: everyday_mail_jobs_test.py.
"""

import io
import json
import urllib.error
import urllib.request
from urllib.parse import quote

import openpyxl

from huf.embedded.tests.everyday_jobs import BOSS, CLERK, MANAGER, JobTestCase, last_result
from huf.tests.model_server import call, text, tool_call, tool_calls


class TestRecords(JobTestCase):
	def test_document_event_sets_the_priority_of_a_new_todo(self):
		(tool,) = self.agent("Sorter", doctypes={"ToDo": ["update"]})["tools"]
		event = {"trigger_type": "Doc Event", "reference_doctype": "ToDo", "doc_event": "after_insert"}
		prompt = "Set the priority of {{ doc.name }}: {{ doc.description }}"
		self.record("Agent Trigger", trigger_name="New to-do", agent="Sorter", prompt=prompt, **event)
		switch = {"trigger": "New to-do", "enabled": False}
		self.addCleanup(self.method, "trigger.set_enabled", switch, MANAGER)

		def decide(body):
			name = body["messages"][-1]["content"].split("priority of ")[1].split(":")[0]
			return tool_call(tool, {"name": name, "values": {"priority": "High"}})

		self.model.script(decide, text("High."))
		created = self.call(
			"/api/resource/ToDo",
			{"description": "The cellar is under water", "allocated_to": CLERK},
			user=CLERK,
		)["data"]
		self.wait_for(lambda: self.rows("Agent Run", agent="Sorter", status="Success"))
		(todo,) = self.rows("ToDo", name=created["name"])
		self.assertEqual((todo["priority"], todo["modified_by"]), ("High", CLERK))
		self.assertEqual(len(self.rows("Agent Run", agent="Sorter")), 1, "its own change sets off nothing")
		self.assertEqual(self.steps, 2)

	def test_a_table_in_a_chat_becomes_to_dos(self):
		agent = self.agent("Importer", doctypes={"ToDo": ["create"]})
		(tool,) = agent["tools"]

		def read(body):
			rows = [
				line.split(",") for line in body["messages"][-1]["content"].splitlines() if ",2026-" in line
			]
			calls = [
				call(tool, {"description": what, "date": due, "allocated_to": CLERK}) for what, due in rows
			]
			return tool_calls(calls)

		self.model.script(read, text("Three to-dos."))
		table = b"what,due\nCall Anna,2026-12-01\nPay rent,2026-12-02\nWater plants,2026-12-03\n"
		file = self.upload("tasks.csv", table, CLERK, is_private="1")
		answer = self.chat("Importer", "Make to-dos of this", attachments=[file["name"]])
		self.assertEqual((answer["status"], answer["response"]), ("Success", "Three to-dos."), answer)
		created = {(row["description"], row["date"]) for row in self.rows("ToDo", owner=CLERK, status="Open")}
		expected = {("Call Anna", "2026-12-01"), ("Pay rent", "2026-12-02"), ("Water plants", "2026-12-03")}
		self.assertLessEqual(expected, created)
		self.assertEqual(self.steps, 1)

	def test_open_to_dos_become_a_spreadsheet(self):
		agent = self.agent("Reporter", "generate_file", doctypes={"ToDo": ["list"]})
		listing = next(name for name in agent["tools"] if name != "generate_file")
		for what in ("Count the stock", "=1+1"):
			self.call("/api/resource/ToDo", {"description": what, "allocated_to": BOSS}, user=BOSS)
		closed = {"description": "Long done", "status": "Closed", "allocated_to": BOSS}
		self.call("/api/resource/ToDo", closed, user=BOSS)

		def write(body):
			found = last_result(body)
			rows = [[row["description"], row["status"]] for row in found.get("rows") or found["result"]]
			return tool_call("generate_file", {"file_name": "open.xlsx", "rows": [["What", "Status"], *rows]})

		query = {
			"filters": {"status": "Open"},
			"fields": ["description", "status"],
			"order_by": "creation asc",
		}
		self.model.script(tool_call(listing, query), write, lambda body: text(last_result(body)["file_url"]))
		answer = self.chat("Reporter", "An Excel of my open to-dos", user=BOSS)
		self.assertEqual(answer["status"], "Success", answer)
		url = answer["response"]
		content = self.server.call(quote(url), cookie=self.sessions[BOSS]).read()
		sheet = openpyxl.load_workbook(io.BytesIO(content)).active
		cells = [[cell.value for cell in row] for row in sheet.rows]
		self.assertEqual(cells, [["What", "Status"], ["Count the stock", "Open"], ["=1+1", "Open"]])
		self.assertNotEqual(sheet["A3"].data_type, "f")
		with self.assertRaises(urllib.error.HTTPError) as refused:
			self.server.call(quote(url), cookie=self.sessions[CLERK])
		refused.exception.close()
		self.assertEqual(refused.exception.code, 403)
		self.assertEqual(self.steps, 1)

	def test_repeated_webhook_delivery_creates_one_lead(self):
		self.own_doctype("Sales Lead", "full_name", "email")
		agent = self.agent("Lead Clerk", doctypes={"Sales Lead": ["create"]})
		hook = {"webhook_slug": "new-lead", "webhook_secret": "the secret of this test", "run_as": MANAGER}
		prompt = "Record this lead: {{ payload }}"
		self.record(
			"Agent Trigger",
			trigger_name="Lead",
			agent="Lead Clerk",
			trigger_type="Webhook",
			prompt=prompt,
			**hook,
		)
		lead = {"full_name": "Jana Nová", "email": "jana@customer.example"}
		self.model.script(tool_call(agent["tools"][0], lead), text("Recorded."))
		first, again = self.deliver(lead), self.deliver(lead)
		self.assertEqual((first["event"], again["repeated"]), (again["event"], True))
		self.wait_for(lambda: self.rows("Agent Run", agent="Lead Clerk", status="Success"))
		again = self.deliver(lead)
		self.assertTrue(again["repeated"] and again["run"])
		(created,) = self.rows("Sales Lead")
		self.assertEqual(
			(created["full_name"], created["email"], created["owner"]), (*lead.values(), MANAGER)
		)
		self.assertEqual(self.steps, 3)

	def deliver(self, body: dict) -> dict:
		headers = {
			"X-Huf-Secret": "the secret of this test",
			"X-Huf-Delivery": "one",
			"Content-Type": "application/json",
		}
		request = urllib.request.Request(
			f"{self.server.url}/agent/hook/new-lead", json.dumps(body).encode(), headers
		)
		return json.load(urllib.request.urlopen(request, timeout=20))


class TestPeopleAndAgents(JobTestCase):
	def test_a_contract_note_is_written_once_another_person_approves_it(self):
		self.own_doctype("Contract Note", "title", "text")
		rights = {"doctypes": {"Contract Note": ["create"]}, "needs_approval": True, "approver": BOSS}
		agent = self.agent("Contract Clerk", **rights)
		(tool,) = agent["tools"]
		note = {"title": "Rent", "text": "Rent rises in May"}
		self.model.script(tool_call(tool, note, content="I will note this."), text("Noted."))
		answer = self.chat("Contract Clerk", "Note that the rent rises in May")
		self.assertEqual(answer["status"], "Waiting", answer)
		draft = self.method(f"draft.get_draft?draft={answer['draft']['draft']}", user=BOSS)
		self.assertEqual((draft["text"], draft["user"]), ("I will note this.", CLERK))
		approval = {"draft": draft["draft"], "digest": draft["digest"]}
		with self.assertRaises(urllib.error.HTTPError) as refused:
			self.method("draft.approve", approval, user=CLERK)
		refused.exception.close()
		self.assertEqual((refused.exception.code, self.rows("Contract Note")), (403, []))
		self.method("draft.approve", approval, user=BOSS)
		self.wait_for(lambda: self.rows("Agent Run", agent="Contract Clerk", status="Success"))
		(created,) = self.rows("Contract Note")
		self.assertEqual(
			(created["title"], created["text"], created["owner"]), ("Rent", "Rent rises in May", CLERK)
		)
		self.assertEqual(self.steps, 2)

	def test_waiting_subagent_does_not_block_another_subagent(self):
		planner = self.agent("Planner", doctypes={"ToDo": ["create"]}, needs_approval=True, approver=BOSS)
		self.agent("Counter", doctypes={"ToDo": ["list"]}, instructions="You count.")
		lead = self.agent("Lead", agents=["Planner", "Counter"], instructions="You lead.")
		todo = {"description": "Order more nails", "allocated_to": CLERK}

		def delegate(body):
			return tool_calls([call(name, {"prompt": f"for {name}"}) for name in lead["tools"]])

		def answer(body):
			messages = [m for m in body["messages"] if m["role"] != "system"]
			results = [m["content"] for m in messages if m["role"] == "tool"]
			if "You lead." in str(body["messages"][0]["content"]):
				return (
					text(" / ".join(json.loads(each)["response"] for each in results))
					if results
					else delegate(body)
				)
			if "You count." in str(body["messages"][0]["content"]):
				return text("Seven are open.")
			return text("It is planned.") if results else tool_call(planner["tools"][0], todo)

		self.model.script(*[answer] * 5)
		first = self.chat("Lead", "Count what is open and plan more")
		self.assertEqual(first["status"], "Waiting", first)
		(draft,) = self.method("draft.get_drafts", user=BOSS)
		self.assertEqual(draft["tool"], planner["tools"][0])
		self.method("draft.approve", {"draft": draft["draft"], "digest": draft["digest"]}, user=BOSS)
		(run,) = self.wait_for(lambda: self.rows("Agent Run", agent="Lead", status="Success"))
		self.assertEqual(run["response"], "It is planned. / Seven are open.")
		self.assertEqual(len(self.rows("ToDo", description="Order more nails")), 1)
		runs = {row["agent"]: row for row in self.rows("Agent Run", parent_run=run["name"])}
		self.assertEqual(sorted(runs), ["Counter", "Planner"])
		self.assertLess(runs["Counter"]["started_at"], runs["Planner"]["ended_at"])
		self.assertEqual(self.steps, 3)
