"""Images of A2A messages, and messages that their client sends again."""

import asyncio
import base64
from contextvars import copy_context

import frappe
from a2a.types import Message, Part, Role, SendMessageConfiguration, SendMessageRequest

from huf.tests.ai.runs.test_repetition import work_on_newest
from huf.tests.api.a2a_test import COMPLETED, IMAGE, A2ATestCase
from huf.tests.api.test_openai import JPEG
from huf.tests.contract.connections import elsewhere
from huf.tests.model_server import slow, text


class TestImages(A2ATestCase):
	def test_image_types_are_read_as_programs_write_them(self):
		self.server.forever(text("A dot."))
		for media_type in ("image/jpeg", "image/jpg", "image/JPEG"):
			with self.subTest(media_type):
				task = self.ask(Part(raw=base64.b64decode(JPEG), media_type=media_type))
				self.assertEqual(task.status.state, COMPLETED)


class TestRepetition(A2ATestCase):
	def setUp(self):
		super().setUp()
		self.message = Message(message_id=frappe.generate_hash(), role=Role.ROLE_USER)
		self.message.parts.extend([Part(text="Due?"), Part(raw=IMAGE, media_type="image/gif")])

	def send_message(self, streaming: bool = False, times: int = 1, **options) -> list[str]:
		"""Send the message several times at once; returns the tasks."""
		request = SendMessageRequest(message=self.message, configuration=SendMessageConfiguration(**options))

		async def send(client):
			return [each async for each in client.send_message(request)][0].task.id

		async def work(client):
			return await asyncio.gather(*[send(client) for _ in range(times)])

		return self.use(work, streaming=streaming)

	def test_a_message_that_is_sent_again_has_the_task_of_its_first_time(self):
		self.server.script(text("Nothing."))
		files = frappe.db.count("File")
		tasks = self.send_message()
		tasks += self.send_message(streaming=True)
		tasks += self.send_message(return_immediately=True)
		self.assertEqual(tasks, [tasks[0]] * 3)
		self.assertEqual(frappe.db.count("File"), files + 1)

	def test_of_equal_messages_that_arrive_together_one_starts_a_run(self):
		self.server.script(slow(0.5, text("Nothing.")))
		files = frappe.db.count("File")
		tasks = self.send_message(times=3)
		self.assertEqual(tasks, [tasks[0]] * 3)
		self.assertEqual(frappe.db.count("File"), files + 1)

	def test_a_task_whose_worker_loses_its_run_ends_with_the_answer_of_the_next_worker(self):
		def lose_run(_body):
			context.copy().run(elsewhere, work_on_newest, self.agent)
			return text("Late.")

		context = copy_context()
		for streaming in (False, True):
			self.server.script(lose_run, text("Nothing."))
			last = self.send("Due?", streaming=streaming)[-1]
			status = last.status_update.status if streaming else last.task.status
			self.assertEqual(status.state, COMPLETED)

	def test_a_message_with_another_text_is_a_new_one(self):
		self.server.script(*[text("Nothing.")] * 2)
		first = self.send_message()
		self.message.parts[0].text = "And now?"
		self.assertNotEqual(self.send_message(), first)
