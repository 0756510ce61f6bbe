"""Files in a chat are attached, removed, sent, seen by the model and kept after a reload."""

import base64
import os
import re
import struct
import unittest
import zlib

from huf.ai.runs.messages import MAX_FILES
from huf.embedded.tests.accessibility_test import AXE, faults_of
from huf.embedded.tests.browser import needs_browser
from huf.embedded.tests.pages import PageTestCase
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, text

PNG = base64.b64decode(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
ANNA = "anna@example.com"
NOTE = {"name": "note.txt", "mimeType": "text/plain", "buffer": b"Tea is at four."}
PICTURE = {"name": "tea.png", "mimeType": "image/png", "buffer": PNG}
ZIP = {"name": "a.zip", "mimeType": "application/zip", "buffer": b"PK"}
TRANSFER = """([kind, name]) => {
	const transfer = new DataTransfer();
	transfer.items.add(new File(["Tea is at four."], name, { type: "text/plain" }));
	const field = document.querySelector("[data-testid=composer]");
	const options = { bubbles: true, cancelable: true };
	field.dispatchEvent(
		kind === "paste"
			? new ClipboardEvent("paste", { ...options, clipboardData: transfer })
			: new DragEvent("drop", { ...options, dataTransfer: transfer }),
	);
}"""


def make_noise_png(width: int, height: int) -> bytes:
	"""A PNG of random pixels, which compression cannot shrink."""
	rows = b"".join(b"\0" + os.urandom(3 * width) for _ in range(height))
	parts = ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(rows)))
	chunks = (
		struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
		for kind, data in (*parts, (b"IEND", b""))
	)
	return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@needs_browser
class TestAttachmentsPage(PageTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.add_user(ANNA, "Huf User")

	def setUp(self):
		super().setUp()
		self.model = enter(self, ModelServer())
		base = {
			"provide_name": f"Scripted {self._testMethodName}",
			"api_key": "sk-test",
			"api_base": self.model.base_url,
		}
		provider = self.make("AI Provider", **base)["name"]
		name = self.make(
			"AI Model",
			model_name=f"sees {self._testMethodName}",
			model_id="scripted",
			provider=provider,
			vision="Yes",
		)["name"]
		self.use_model(name)
		self.addCleanup(self.use_model, "")

	def use_model(self, model: str) -> None:
		self.call("/api/resource/Agent/Office%20Assistant", {"model": model}, "PUT")

	def attach(self, page, *files) -> None:
		before = page.get_by_test_id("detach").count()
		with page.expect_file_chooser() as chooser:
			page.get_by_test_id("attach").click()
		chooser.value.set_files(list(files))
		page.get_by_test_id("attachment").locator("a").nth(before + len(files) - 1).wait_for()

	def test_text_and_image_reach_the_model_and_survive_reload_and_edit(self):
		with self.open_page(user=ANNA) as page:
			self.attach(page, NOTE, PICTURE)
			self.assertEqual(page.get_by_test_id("attach-hint").count(), 0)
			page.get_by_test_id("composer").fill("When is tea?")
			self.model.script(text("At four."))
			page.keyboard.press("Enter")
			page.get_by_test_id("run-footer").wait_for()
			self.assertEqual(page.get_by_test_id("detach").count(), 0)
			text_part, image_part = self.model.requests[0]["messages"][-1]["content"]
			self.assertIn("File note.txt:\n```\nTea is at four.\n```", text_part["text"])
			self.assertEqual(
				image_part["image_url"]["url"], f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
			)
			page.reload()
			page.get_by_test_id("run-footer").wait_for()
			message = page.get_by_test_id("message-user")
			message.get_by_role("link", name="note.txt").wait_for()
			picture = message.get_by_role("img", name="tea.png")
			self.assertTrue(picture.evaluate("async (img) => (await img.decode(), img.naturalWidth === 1)"))
			page.get_by_test_id("edit").click()
			self.model.script(text("Four o'clock."))
			page.get_by_test_id("edit-message").fill("And when is tea today?")
			page.get_by_test_id("edit-send").click()
			page.get_by_test_id("message-agent").get_by_role("paragraph").get_by_text(
				"Four o'clock."
			).wait_for()
			self.assertEqual(page.get_by_test_id("attachment").count(), 2)
			self.assertIn("Tea is at four.", self.model.requests[1]["messages"][-1]["content"][0]["text"])

	def test_rejected_message_returns_to_the_field_with_its_files_and_is_sent_without_the_bad_one(self):
		with self.open_page() as page:
			self.attach(page, NOTE, {**PICTURE, "name": "bad.png", "buffer": b"no picture"})
			page.get_by_test_id("composer").fill("When is tea?")
			page.keyboard.press("Enter")
			page.get_by_text("bad.png is not a picture").wait_for()
			page.get_by_role("button", name="Remove bad.png").click()
			self.assertEqual(page.get_by_test_id("composer").input_value(), "When is tea?")
			self.assertEqual(page.get_by_test_id("message-user").count(), 0)
			self.model.script(text("At four."))
			page.keyboard.press("Enter")
			page.get_by_test_id("run-footer").wait_for()
			self.assertIn("File note.txt", self.model.requests[0]["messages"][-1]["content"])
			self.assertEqual(page.get_by_test_id("detach").count(), 0)

	def test_unsent_attachment_survives_a_reload_until_it_is_removed(self):
		with self.open_page() as page:
			self.attach(page, NOTE)
			page.reload()
			page.get_by_test_id("attachment").get_by_role("link", name="note.txt").wait_for()
			page.locator("[data-testid=send]:enabled").wait_for()
			with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
				page.get_by_role("button", name="Remove note.txt").press("Enter")
			self.assertEqual(deleted.value.status, 202)
			page.reload()
			page.get_by_test_id("composer").wait_for()
			self.assertEqual(page.get_by_test_id("attachment").count(), 0)

	@unittest.skipUnless(AXE.is_file(), "axe-core is not installed: npm --prefix huf/ui ci")
	def test_axe_finds_no_serious_fault_in_what_is_attached(self):
		for scheme in ("light", "dark"):
			with self.open_page(color_scheme=scheme) as page:
				self.attach(page, NOTE, PICTURE)
				page.get_by_test_id("attach-input").set_input_files([ZIP])
				page.get_by_role("alert").wait_for()
				self.assertEqual(faults_of(page), [])
				page.get_by_role("button", name="Remove a.zip").click()
				self.model.script(text("Tea at four."))
				page.get_by_test_id("send").click()
				page.get_by_test_id("run-footer").wait_for()
				self.assertEqual(faults_of(page), [])

	def test_files_can_be_dropped_and_pasted(self):
		with self.open_page() as page:
			page.get_by_test_id("composer").wait_for()
			for number, kind in enumerate(("drop", "paste"), 1):
				page.evaluate(TRANSFER, [kind, f"{kind}.txt"])
				page.get_by_role("link", name=f"{kind}.txt").wait_for()
				self.assertEqual(page.get_by_test_id("attachment").count(), number)

	def test_too_large_image_is_downscaled_before_the_upload(self):
		with self.open_page() as page:
			self.attach(
				page, {"name": "big.png", "mimeType": "image/png", "buffer": make_noise_png(1500, 1000)}
			)
			label = page.get_by_test_id("attachment").inner_text()
			self.assertRegex(label, r"big\.jpg\s+(\d{3} kB|[12]\.\d MB)")

	def test_an_image_that_cannot_be_downscaled_says_so_and_keeps_the_text(self):
		with self.open_page(locale="de-DE") as page:
			page.get_by_test_id("composer").fill("Was steht hier?")
			page.route("**/shrinkPicture-*", lambda route: route.abort())
			page.get_by_test_id("attach-input").set_input_files(
				[{"name": "big.png", "mimeType": "image/png", "buffer": make_noise_png(1500, 1000)}]
			)
			page.get_by_role("alert").get_by_text("laden Sie die Seite dann neu").wait_for()
			self.assertEqual(page.get_by_test_id("attachment").count(), 1)
			self.assertEqual(page.get_by_test_id("composer").input_value(), "Was steht hier?")

	def test_unsupported_file_shows_an_error_and_blocks_sending(self):
		with self.open_page() as page:
			page.get_by_test_id("composer").fill("Read this")
			page.get_by_test_id("attach-input").set_input_files([ZIP])
			page.get_by_role("alert").get_by_text("not supported").wait_for()
			self.assertFalse(page.get_by_test_id("send").is_enabled())
			page.get_by_role("button", name="Remove a.zip").click()
			# Sending also waits until the agents are loaded.
			page.locator("[data-testid=send]:enabled").wait_for()

	def test_refused_files_do_not_count_towards_the_limit_of_a_message(self):
		with self.open_page() as page:
			choose = page.locator("input[type=file]").first
			choose.set_input_files([ZIP] * MAX_FILES)
			page.get_by_text("This file type is not supported.").nth(MAX_FILES - 1).wait_for()
			choose.set_input_files([NOTE])
			page.get_by_test_id("attachment").get_by_role("link", name="note.txt").wait_for()

	def test_removing_a_failed_file_does_not_send_what_waited_for_it(self):
		with self.open_page() as page:
			page.get_by_test_id("attach-input").set_input_files([ZIP])
			page.get_by_role("alert").wait_for()
			page.get_by_test_id("composer").fill("Read this")
			page.keyboard.press("Enter")
			self.assertIn("a.zip was not attached", page.get_by_test_id("attach-hint").inner_text())
			page.get_by_role("button", name="Remove a.zip").click()
			page.locator("[data-testid=send]:enabled").wait_for()
			self.assertEqual(page.get_by_test_id("composer").input_value(), "Read this")
			self.assertEqual(page.get_by_test_id("message-user").count(), 0)

	def test_message_sent_during_an_upload_says_that_it_waits_and_is_sent_afterwards(self):
		held: list = []
		with self.open_page() as page:
			page.route("**/upload_file*", lambda route: held.append(route))
			page.get_by_test_id("composer").fill("Read this")
			page.get_by_test_id("attach-input").set_input_files([NOTE])
			page.get_by_test_id("attachment").wait_for()
			page.keyboard.press("Enter")
			page.get_by_test_id("attach-hint").filter(has_text="as soon as its files are uploaded").wait_for()
			self.model.script(text("Read."))
			held[0].continue_()
			page.get_by_test_id("message-user").filter(has_text="Read this").wait_for()
			page.get_by_test_id("run-footer").wait_for()
			self.assertIn("Tea is at four.", str(self.model.requests[0]["messages"][-1]["content"]))

	def test_hint_before_sending_says_that_images_are_not_seen_without_a_model(self):
		self.use_model("")
		with self.open_page() as page:
			self.attach(page, PICTURE)
			self.assertRegex(page.get_by_test_id("attach-hint").inner_text(), re.compile("without a model"))
