"""Private files of other users cannot be read, published, overwritten or deleted."""

from pathlib import Path

import frappe

from huf.tests.base import SiteTestCase
from huf.tests.security.clients import Client, stricter_than_frappe

SECRET = b"the secret of the victim"
SAME_SUFFIX = (b"collides", b"30424594")
"""Two contents whose MD5 ends in the same six characters."""


class TestFiles(SiteTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.victim, cls.attacker = Client(), Client()

	def upload(self, client: Client, name: str, content: bytes, **form) -> dict:
		answer = client.upload(name, content, **{"is_private": "1", **form})
		self.assertEqual(answer.status_code, 200, answer.text)
		return answer.json["message"]

	def make_secret(self) -> dict:
		self.content = SECRET + frappe.generate_hash().encode()
		return self.upload(self.victim, f"{frappe.generate_hash(length=8)}.txt", self.content)

	def assert_secret_is_safe(self, secret: dict):
		self.assertEqual(self.victim.send(secret["file_url"]).data, self.content)
		self.assertEqual(self.attacker.send(secret["file_url"]).status_code, 403)
		public = secret["file_url"].removeprefix("/private")
		self.assertNotEqual(self.attacker.send(public).data, self.content)

	def change(self, name: str, **values):
		return self.attacker.send(f"/api/resource/File/{name}", "PUT", json=values)

	@stricter_than_frappe
	def test_a_name_in_other_case_does_not_open_a_file(self):
		secret = self.make_secret()
		stem = secret["file_url"].rsplit("/", 1)[1]
		self.upload(self.attacker, stem.upper(), b"mine")
		self.assert_secret_is_safe(secret)

	@stricter_than_frappe
	def test_setting_a_file_url_needs_read_permission_on_that_file(self):
		secret = self.make_secret()
		for values in (
			{"file_url": secret["file_url"]},
			{"file_url": secret["file_url"], "is_private": 0},
			{"file_url": secret["file_url"], "content": "x"},
			{"file_url": secret["file_url"], "is_folder": 1},
			{"file_url": secret["file_url"].replace("/files/", "/files/./")},
			{"file_url": secret["file_url"].removeprefix("/private"), "is_private": 0},
		):
			with self.subTest(values):
				own = self.upload(self.attacker, "own.txt", frappe.generate_hash().encode())["name"]
				self.change(own, **values)
				self.change(own, is_folder=0, is_private=0)
				self.assert_secret_is_safe(secret)
				self.attacker.send(f"/api/resource/File/{own}", "DELETE")
				self.assert_secret_is_safe(secret)

	@stricter_than_frappe
	def test_files_with_the_same_hash_suffix_get_different_urls(self):
		name = f"{frappe.generate_hash(length=8)}.txt"
		self.upload(self.victim, name, b"first " + name.encode())
		secret = self.upload(self.victim, name, SAME_SUFFIX[0])
		twin = self.upload(self.attacker, name, SAME_SUFFIX[1])
		self.assertNotEqual(twin["file_url"], secret["file_url"])
		self.assertEqual(self.attacker.send(secret["file_url"]).status_code, 403)

	@stricter_than_frappe
	def test_shared_content_is_kept_when_one_file_is_published_or_deleted(self):
		content = frappe.generate_hash().encode()
		first = self.upload(self.victim, "shared.txt", content)
		second = self.upload(self.attacker, "shared.txt", content)
		self.change(second["name"], is_private=0)
		self.assertEqual(self.victim.send(first["file_url"]).data, content)
		self.assertEqual(
			self.attacker.send(f"/api/resource/File/{second['name']}", "DELETE").status_code, 202
		)
		self.assertEqual(self.victim.send(first["file_url"]).data, content)

	@stricter_than_frappe
	def test_attaching_a_file_of_another_user_is_forbidden(self):
		secret = self.make_secret()
		values = {"description": "mine", "assigned_by": self.attacker.user}
		todo = self.attacker.send("/api/resource/ToDo", "POST", json=values).json["data"]
		answer = self.change(secret["name"], attached_to_doctype="ToDo", attached_to_name=todo["name"])
		self.assertEqual(answer.status_code, 403, answer.text)
		self.assert_secret_is_safe(secret)

	def test_the_owner_publishes_and_deletes_a_file(self):
		secret = self.make_secret()
		answer = self.victim.send(f"/api/resource/File/{secret['name']}", "PUT", json={"is_private": 0})
		url = answer.json["data"]["file_url"]
		self.assertTrue(url.startswith("/files/"))
		# On a bench the web server in front of Frappe sends public files.
		public = Path(frappe.get_site_path("public", url.lstrip("/")))
		self.assertEqual(public.read_bytes(), self.content)
		self.assertNotEqual(self.victim.send(secret["file_url"]).status_code, 200)
		self.victim.send(f"/api/resource/File/{secret['name']}", "DELETE")
		self.assertFalse(public.exists())
