"""Everyday agent jobs with real mail servers, knowledge and the web."""

from huf.embedded.tests.everyday_jobs import ADMIN, CLERK, MANAGER, JobTestCase, last_result
from huf.embedded.tests.mail_test import Postman
from huf.tests.ai.tools.pages import ARTICLE, Site
from huf.tests.imap_server import ImapServer, needs_dovecot
from huf.tests.mail import make_mail
from huf.tests.model_server import text, tool_call


class TestMailJobs(JobTestCase):
	def sent_mails(self) -> list[dict]:
		"""Mails that the manager's page lists as sent."""
		mails = self.method("mail.get_mails", user=MANAGER)
		return [each for each in mails if (each["direction"], each["status"]) == ("Outgoing", "Sent")]

	def test_scheduled_agent_mails_overdue_todos(self):
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
		self.assertEqual(self.steps, 4)

	@needs_dovecot
	def test_incoming_stock_mail_is_answered_from_a_custom_doctype(self):
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
				content = {"subject": "Stock", "body": f"We have {row['stock']} {row['title']}."}
				return tool_call("send_reply", {"to": "anna@customer.example", **content})

			query = {"filters": {"title": "Nails"}, "fields": ["title", "stock"]}
			self.model.script(tool_call(listing, query), reply, text("Answered."))
			inbox.deliver(make_mail(to="stock@office.example", subject="Your stock", text="Any nails?"))
			self.method("mail.sync_mailbox", {"mailbox": "Stock"}, user=MANAGER)
			((to, mail),) = self.wait_for(lambda: postman.mails)
			self.wait_for(lambda: self.sent_mails())
		self.assertEqual((to, mail["From"]), (["anna@customer.example"], "stock@office.example"))
		self.assertEqual(mail.get_content().strip(), "We have 120 Nails.")
		self.assertEqual(self.steps, 4)


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
		self.assertEqual(self.steps, 3)

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

		def answer_price(body):
			return text("4.20 EUR" if "4.20 EUR" in str(last_result(body)) else "Unknown")

		self.model.script(
			tool_call("web_search", {"query": "price nails"}),
			open_found,
			tool_call("open_shop", {"url": "/nails"}),
			answer_price,
		)
		answer = self.chat("Buyer", "What do 100 nails cost?")
		self.assertEqual((answer["status"], answer["response"]), ("Success", "4.20 EUR"), answer)
		results = [m["content"] for m in self.model.requests[-1]["messages"] if m["role"] == "tool"]
		self.assertIn("private address", results[1], "open_url refuses private addresses")
		self.assertEqual(self.steps, 3)
