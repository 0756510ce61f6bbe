"""The newcomer's first minute: `huf start`, sign in, talk to the demo agent, without any model."""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from huf.embedded.tests.browser import needs_browser, open_browser, say, sign_in
from huf.embedded.tests.server_test import Server, free_port

PASSWORD = "a good password 7"


@needs_browser
class TestChatPage(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, home, ignore_errors=True)
		cls.server = Server(home, free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
		cls.addClassCleanup(cls.server.stop)

	def test_a_newcomer_s_two_questions_are_answered_from_real_records(self):
		with open_browser(self.server.url) as page:
			sign_in(page, PASSWORD)
			self.assertEqual(say(page, "How many users are there?").get_attribute("data-status"), "Success")
			counted = page.get_by_test_id("tool-call").last
			self.assertEqual(counted.get_attribute("data-tool"), "list_users")
			self.assertEqual(counted.get_attribute("data-status"), "done")
			self.assertIn("Administrator", counted.get_by_test_id("tool-result").inner_text())
			self.assertIn(str(self.count("User")), page.get_by_test_id("message-agent").last.inner_text())

			before = self.count("ToDo")
			say(page, "Create a todo to call Anna")
			created = page.get_by_test_id("tool-call").last
			self.assertEqual(created.get_attribute("data-tool"), "create_todo")
			self.assertIn("Anna", created.get_by_test_id("tool-arguments").inner_text())
			self.assertEqual(self.count("ToDo"), before + 1)

	def test_a_conversation_is_there_again_after_a_reload(self):
		with open_browser(self.server.url) as page:
			sign_in(page, PASSWORD)
			say(page, "List my open todos")
			address = page.url
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(page.url, address)
			self.assertIn("List my open todos", page.get_by_test_id("message-user").inner_text())
			self.assertEqual(page.get_by_test_id("tool-call").count(), 1)
			self.assertTrue(page.get_by_test_id("conversation-item").count())

	def test_a_wrong_password_is_told_and_lets_nobody_in(self):
		with open_browser(self.server.url) as page:
			sign_in(page, "wrong")
			page.get_by_role("alert").wait_for()
			self.assertIn("/login", page.url)

	def count(self, doctype: str) -> int:
		cookie = self.server.login(PASSWORD)
		answer = self.server.call(f"/api/resource/{doctype}?limit_page_length=0", cookie=cookie)
		return len(json.load(answer)["data"])
