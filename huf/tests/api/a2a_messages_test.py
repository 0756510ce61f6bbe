"""Images of A2A messages, and messages that their client sends again."""

import base64

from a2a.types import Part

from huf.tests.api.a2a_test import COMPLETED, A2ATestCase
from huf.tests.api.test_openai import JPEG
from huf.tests.model_server import text


class TestImages(A2ATestCase):
	def test_image_types_are_read_as_programs_write_them(self):
		self.server.forever(text("A dot."))
		for media_type in ("image/jpeg", "image/jpg", "image/JPEG"):
			with self.subTest(media_type):
				task = self.ask(Part(raw=base64.b64decode(JPEG), media_type=media_type))
				self.assertEqual(task.status.state, COMPLETED)
