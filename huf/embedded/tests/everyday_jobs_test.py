"""Ten jobs that people set agents up for, on a served site by the REST of its pages, with real mail servers.

Each counts the requests that its set-up takes. The site has a model and users already.
"""

import io
import json
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Callable
from urllib.parse import quote, urlencode

import openpyxl

from huf.embedded.tests.mail_test import Postman
from huf.embedded.tests.pages import ADMIN, PageTestCase
from huf.tests.ai.tools.pages import ARTICLE, Site
from huf.tests.base import enter
from huf.tests.imap_server import ImapServer, needs_dovecot
from huf.tests.mail import make_mail
from huf.tests.model_server import ModelServer, call, text, tool_call, tool_calls

MANAGER, CLERK, BOSS = "manager@office.example", "clerk@office.example", "boss@office.example"
MAX_STEPS = 4
PATIENCE_S = 60
EVERYTHING = {right: 1 for right in ("read", "write", "create", "delete")}


class JobTestCase(PageTestCase):
	"""Has a scripted `model`; `step` sets up as a person would, and counts."""

	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model = enter(cls, ModelServer())
		cls.add_user(MANAGER, "Huf Manager")
		cls.add_user(CLERK, "Huf User")
		cls.add_user(BOSS, "Huf User")
		cls.model.script(text("OK"))
		given = {"provider": "Scripted", "model": "scripted", "api_key": "sk-test"}
		connected = cls.method("model.connect", {**given, "api_base": cls.model.base_url})
		assert connected["ok"], connected

	def setUp(self):
		self.steps = 0

	def tearDown(self):
		self.model.check()
		self.assertLessEqual(self.steps, MAX_STEPS)
		self.assertGreater(self.steps, 0)

	@classmethod
	def method(cls, name: str, data: dict | None = None, user: str = ADMIN):
		return cls.call(f"/api/method/huf.api.{name}", data, user=user).get("message")

	def step(self, path: str, data: dict, user: str = MANAGER) -> dict:
		self.steps += 1
		answer = self.call(path, data, user=user)
		return answer.get("data") or answer["message"]

	def record(self, doctype: str, user: str = MANAGER, **values) -> dict:
		return self.step(f"/api/resource/{quote(doctype)}", values, user)

	def agent(self, name: str, *tools: str, user: str = MANAGER, doctypes=None, agents=(), **values) -> dict:
		more = {name: values.pop(name) for name in ("needs_approval",) if name in values}
		values = {"agent_name": name, "agent_tool": [{"tool": tool} for tool in tools], **values}
		body = {"values": values, "doctypes": doctypes or {}, "agents": list(agents), **more}
		return self.step("/api/method/huf.api.agent.create", body, user)

	def own_doctype(self, name: str, *fields: str, roles=("Huf User", "Huf Manager")) -> None:
		fields = [
			{"fieldname": each, "fieldtype": "Data", "label": each, "in_list_view": 1} for each in fields
		]
		rules = [{"role": role, **EVERYTHING} for role in roles]
		self.record("DocType", ADMIN, name=name, module="Huf", custom=1, fields=fields, permissions=rules)

	def rows(self, doctype: str, user: str = ADMIN, **filters) -> list[dict]:
		asked = {"fields": '["*"]', "filters": json.dumps(filters), "limit_page_length": 0}
		query = f"?{urlencode(asked)}"
		return self.call(f"/api/resource/{quote(doctype)}{query}", user=user)["data"]

	def chat(self, agent: str, prompt: str, user: str = CLERK, **more) -> dict:
		body = {"agent": agent, "prompt": prompt, **more}
		answer = self.call("/api/method/huf.ai.agent_chat.send_agent_chat_message", body, user=user)
		return answer["message"]

	def upload(self, name: str, content: bytes, user: str, **form: str) -> dict:
		"""A file as the page's form sends it."""
		boundary = "a-boundary"
		parts = [
			f'--{boundary}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}' for k, v in form.items()
		]
		head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
		body = "".join(f"{part}\r\n" for part in parts).encode() + head.encode() + content
		self.call("/api/method/ping", user=user)
		headers = {"Cookie": self.sessions[user], "X-Frappe-CSRF-Token": self.tokens[user]}
		headers["Content-Type"] = f"multipart/form-data; boundary={boundary}"
		url = f"{self.server.url}/api/method/upload_file"
		request = urllib.request.Request(url, body + f"\r\n--{boundary}--\r\n".encode(), headers)
		return json.load(urllib.request.urlopen(request, timeout=20))["message"]

	def wait_for(self, find: Callable):
		"""The first true result of `find`."""
		deadline = time.monotonic() + PATIENCE_S
		while not (found := find()):
			self.assertLess(time.monotonic(), deadline, "it does not happen")
			time.sleep(0.1)
		return found


def last_result(body: dict):
	"""The result of the last tool call that a model was given, parsed."""
	return json.loads(next(m["content"] for m in reversed(body["messages"]) if m["role"] == "tool"))


class TestRecords(JobTestCase):
	def test_a_new_to_do_gets_its_priority(self):
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
		made = self.call(
			"/api/resource/ToDo",
			{"description": "The cellar is under water", "allocated_to": CLERK},
			user=CLERK,
		)["data"]
		self.wait_for(lambda: self.rows("Agent Run", agent="Sorter", status="Success"))
		(todo,) = self.rows("ToDo", name=made["name"])
		self.assertEqual((todo["priority"], todo["modified_by"]), ("High", CLERK))
		self.assertEqual(len(self.rows("Agent Run", agent="Sorter")), 1, "its own change sets off nothing")

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
		made = {(row["description"], row["date"]) for row in self.rows("ToDo", owner=CLERK, status="Open")}
		wanted = {("Call Anna", "2026-12-01"), ("Pay rent", "2026-12-02"), ("Water plants", "2026-12-03")}
		self.assertLessEqual(wanted, made)

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

		wanted = {
			"filters": {"status": "Open"},
			"fields": ["description", "status"],
			"order_by": "creation asc",
		}
		self.model.script(tool_call(listing, wanted), write, lambda body: text(last_result(body)["file_url"]))
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

	def test_a_lead_from_a_webhook_is_one_record_however_often_it_is_delivered(self):
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
		(made,) = self.rows("Sales Lead")
		self.assertEqual((made["full_name"], made["email"], made["owner"]), (*lead.values(), MANAGER))

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
		(made,) = self.rows("Contract Note")
		self.assertEqual((made["title"], made["text"], made["owner"]), ("Rent", "Rent rises in May", CLERK))

	def test_two_agents_work_side_by_side_and_one_waits_for_a_person(self):
		waits = self.agent("Planner", doctypes={"ToDo": ["create"]}, needs_approval=True, approver=BOSS)
		self.agent("Counter", doctypes={"ToDo": ["list"]}, instructions="You count.")
		lead = self.agent("Lead", agents=["Planner", "Counter"], instructions="You lead.")
		todo = {"description": "Order more nails", "allocated_to": CLERK}

		def begin(body):
			return tool_calls([call(name, {"prompt": f"for {name}"}) for name in lead["tools"]])

		def answer(body):
			said = [m for m in body["messages"] if m["role"] != "system"]
			results = [m["content"] for m in said if m["role"] == "tool"]
			if "You lead." in str(body["messages"][0]["content"]):
				return (
					text(" / ".join(json.loads(each)["response"] for each in results))
					if results
					else begin(body)
				)
			if "You count." in str(body["messages"][0]["content"]):
				return text("Seven are open.")
			return text("It is planned.") if results else tool_call(waits["tools"][0], todo)

		self.model.script(*[answer] * 5)
		first = self.chat("Lead", "Count what is open and plan more")
		self.assertEqual(first["status"], "Waiting", first)
		(draft,) = self.method("draft.get_drafts", user=BOSS)
		self.assertEqual(draft["tool"], waits["tools"][0])
		self.method("draft.approve", {"draft": draft["draft"], "digest": draft["digest"]}, user=BOSS)
		(run,) = self.wait_for(lambda: self.rows("Agent Run", agent="Lead", status="Success"))
		self.assertEqual(run["response"], "It is planned. / Seven are open.")
		self.assertEqual(len(self.rows("ToDo", description="Order more nails")), 1)
		runs = {row["agent"]: row for row in self.rows("Agent Run", parent_run=run["name"])}
		self.assertEqual(sorted(runs), ["Counter", "Planner"])
		self.assertLess(runs["Counter"]["started_at"], runs["Planner"]["ended_at"])


class TestMailJobs(JobTestCase):
	def sent_mails(self) -> list[dict]:
		"""What the manager's page lists as sent."""
		mails = self.method("mail.get_mails", user=MANAGER)
		return [each for each in mails if (each["direction"], each["status"]) == ("Outgoing", "Sent")]

	def test_every_morning_what_is_overdue_is_mailed(self):
		with Postman() as postman:
			account = {"email_account_name": "Site", "email_id": "site@office.example", "enable_outgoing": 1}
			server = {"smtp_server": "127.0.0.1", "smtp_port": str(postman.port), "no_smtp_authentication": 1}
			self.record("Email Account", ADMIN, default_outgoing=1, **account, **server)
			self.record(
				"Agent Tool Function", tool_name="send_mail", types="Send Mail", description="Mails people"
			)
			agent = self.agent("Morning", "send_mail", doctypes={"ToDo": ["list"]})
			plan = {"trigger_type": "Schedule", "cron": "0 7 * * *", "run_as": MANAGER}
			prompt = "Mail manager@office.example what is overdue"
			trigger = self.record(
				"Agent Trigger", trigger_name="At seven", agent="Morning", prompt=prompt, **plan
			)
			self.assertIn(" 07:00:00", trigger["next_execution"])
			for what, due in (("Tax return", "2020-01-31"), ("Next year", "2099-01-01")):
				self.call(
					"/api/resource/ToDo",
					{"description": what, "date": due, "allocated_to": MANAGER},
					user=MANAGER,
				)
			listing = next(name for name in agent["tools"] if name != "send_mail")

			def write(body):
				found = last_result(body)
				overdue = [row["description"] for row in found.get("rows") or found["result"]]
				mail = {"to": MANAGER, "subject": "Overdue", "body": "\n".join(overdue)}
				return tool_call("send_mail", mail)

			overdue = {"filters": {"date": ["<", "2026-01-01"], "status": "Open"}, "fields": ["description"]}
			self.model.script(tool_call(listing, overdue), write, text("Mailed."))
			self.method("trigger.fire", {"trigger": "At seven"}, user=MANAGER)
			((to, mail),) = self.wait_for(lambda: postman.mails)
			self.wait_for(lambda: self.sent_mails())
		self.assertEqual(
			(to, mail["Subject"], mail.get_content().strip()), ([MANAGER], "Overdue", "Tax return")
		)

	@needs_dovecot
	def test_mail_about_stock_is_answered_from_an_own_doctype(self):
		self.own_doctype("Stock Item", "title", "stock")
		agent = self.agent("Stock Clerk", "send_reply", doctypes={"Stock Item": ["list"]}, may_send_mail=1)
		listing = next(name for name in agent["tools"] if name != "send_reply")
		with ImapServer() as inbox, Postman() as postman:
			values = {"mailbox_name": "Stock", "email": "stock@office.example", "run_as": MANAGER}
			self.record(
				"Agent Mailbox", take="All of the inbox", **values, **inbox.settings, **postman.settings
			)
			rule = {"route": "agent", "profile": "Stock Clerk", "subject_contains": "stock"}
			self.record("Agent Route Rule", rule_name="stock", **rule)
			self.call("/api/resource/Stock%20Item", {"title": "Nails", "stock": "120"}, user=MANAGER)
			checked = self.method("mail.test_mailbox", {"mailbox": "Stock"}, user=MANAGER)
			self.assertEqual([each["error"] for each in checked], [None, None])

			def reply(body):
				found = last_result(body)
				(row,) = found.get("rows") or found["result"]
				said = {"subject": "Stock", "body": f"We have {row['stock']} {row['title']}."}
				return tool_call("send_reply", {"to": "anna@customer.example", **said})

			wanted = {"filters": {"title": "Nails"}, "fields": ["title", "stock"]}
			self.model.script(tool_call(listing, wanted), reply, text("Answered."))
			inbox.deliver(make_mail(to="stock@office.example", subject="Your stock", text="Any nails?"))
			self.method("mail.sync_mailbox", {"mailbox": "Stock"}, user=MANAGER)
			((to, mail),) = self.wait_for(lambda: postman.mails)
			self.wait_for(lambda: self.sent_mails())
		self.assertEqual((to, mail["From"]), (["anna@customer.example"], "stock@office.example"))
		self.assertEqual(mail.get_content().strip(), "We have 120 Nails.")


class TestKnowledgeAndWeb(JobTestCase):
	def test_questions_on_a_handbook_are_answered_with_citations(self):
		self.record("Knowledge Source", source_name="Handbook", source_type="Files")
		self.steps += 1
		handbook = b"# Holidays\n\nEverybody has 27 days.\n\n# Travel\n\nTrains are paid in second class.\n"
		to = {"doctype": "Knowledge Source", "docname": "Handbook", "is_private": "1"}
		self.upload("handbook.md", handbook, MANAGER, **to)
		self.agent("Adviser", "search_knowledge", knowledge=[{"source": "Handbook"}])
		self.wait_for(lambda: self.method("knowledge.search?query=holidays", user=CLERK)["results"])
		self.model.script(
			tool_call("search_knowledge", {"query": "holidays"}),
			lambda body: text(f"{'27' if '27 days' in str(last_result(body)) else 'No'} days [1]."),
		)
		answer = self.chat("Adviser", "How many holidays do I have?")
		self.assertEqual((answer["status"], answer["response"]), ("Success", "27 days [1]."), answer)
		run = self.method(f"run.get_run?run={answer['run']}", user=CLERK)
		(cited,) = run["steps"][0]["tool_calls"][0]["sources"]
		self.assertEqual((cited["number"], cited["position"], cited["source"]), (1, "Holidays", "Handbook"))
		page = self.server.call(cited["link"], cookie=self.sessions[CLERK]).read()
		self.assertIn(b"27 days", page)

	def test_prices_are_looked_up_on_the_web(self):
		site = Site(self)
		shop = site.add("/nails", ARTICLE.replace("It leaks in the north.", "100 nails cost 4.20 EUR."))
		found = {"results": [{"title": "Nails", "url": shop, "content": "Nails in all sizes"}]}
		site.answer_json("/search?q=price+nails&format=json", found)
		settings = {"search_provider": "SearXNG", "search_base_url": site.url}
		self.steps += 1
		self.call("/api/resource/Huf%20Settings/Huf%20Settings", settings, "PUT", user=MANAGER)
		page = {"tool_name": "open_shop", "types": "GET", "base_url": site.url, "allow_private_hosts": 1}
		self.record("Agent Tool Function", description="Opens a page of the shop in this network", **page)
		self.agent("Buyer", "web_search", "open_url", "open_shop")

		def open_found(body):
			return tool_call("open_url", {"url": last_result(body)["results"][0]["url"]})

		def tell(body):
			return text("4.20 EUR" if "4.20 EUR" in str(last_result(body)) else "Unknown")

		self.model.script(
			tool_call("web_search", {"query": "price nails"}),
			open_found,
			tool_call("open_shop", {"url": "/nails"}),
			tell,
		)
		answer = self.chat("Buyer", "What do 100 nails cost?")
		self.assertEqual((answer["status"], answer["response"]), ("Success", "4.20 EUR"), answer)
		results = [m["content"] for m in self.model.requests[-1]["messages"] if m["role"] == "tool"]
		self.assertIn("private address", results[1], "pages of the own network are not opened by themselves")


if __name__ == "__main__":
	unittest.main()
