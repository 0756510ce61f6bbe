"""Files over the WSGI application: assets, uploads and who may read them."""

import gzip
import io
import re
import threading
from pathlib import Path
from unittest.mock import patch

import frappe
import frappe.app
from frappe.core.doctype.file.file import files_at
from frappe.site_local import opened

import huf
from huf.embedded.site import SITE
from huf.embedded.tests.sites import Browser, SiteTestCase

HUF_PAGE = Path(huf.__file__).parent / "www" / "huf.html"


class TestFiles(SiteTestCase):
	OUTSIDE = (
		"/files/../site_config.json",
		"/files/../../site_config.json",
		"/files/..%2f..%2fsite_config.json",
		"/files/%2e%2e/%2e%2e/site_config.json",
		"/files//etc/passwd",
		"/files/..\\..\\site_config.json",
		"/private/files/../../site_config.json",
		"/assets/huf/../hooks.py",
		"/assets/huf/%2e%2e/hooks.py",
		"/assets/huf/../../pyproject.toml",
		"/assets/frappe/../app.py",
		"/assets/os/path.py",
		"/assets/../site_config.json",
		"/..%2f..%2fsite_config",
		"/../www/login",
	)

	def test_path_traversal_is_refused(self):
		admin = self.admin()
		for path in self.OUTSIDE:
			answer = admin.open(path)
			self.assertIn(answer.status_code, (403, 404), path)
			self.assertNotIn(b"encryption_key", answer.data)

	def test_assets_are_sent_compressed(self):
		browser = Browser()
		page = HUF_PAGE.read_text()
		assets = set(re.findall(r"/assets/huf/frontend/[\w.-]+\.(?:js|css|woff2)", page))
		for url in assets:
			plain = browser.open(url, headers={"Accept-Encoding": "identity"})
			small = browser.open(url, headers={"Accept-Encoding": "gzip, br"})
			self.assertEqual(small.headers["Cache-Control"], plain.headers["Cache-Control"])
			self.assertEqual(small.content_type, plain.content_type)
			self.assertIsNone(plain.headers.get("Content-Encoding"))
			if len(plain.data) > 1024 and not url.endswith(".woff2"):
				self.assertEqual(
					(small.headers["Content-Encoding"], small.headers["Vary"]), ("br", "Accept-Encoding")
				)
				gzipped = browser.open(url, headers={"Accept-Encoding": "gzip"})
				self.assertEqual(gzip.decompress(gzipped.data), plain.data)
		self.assertGreaterEqual(len(assets), 3)

	def upload(self, browser, name, content, **form):
		file = (io.BytesIO(content), name)
		return browser.post("/api/method/upload_file", data={"file": file, **form})

	def test_uploaded_html_is_served_as_a_sandboxed_download(self):
		admin = self.admin()
		url = self.upload(admin, "evil.html", b"<script>alert(1)</script>").json["message"]["file_url"]
		answer = admin.open(url)
		self.assertTrue(answer.headers["Content-Disposition"].startswith("attachment"))
		self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
		self.assertIn("sandbox", answer.headers["Content-Security-Policy"])

	def test_a_file_of_an_unknown_or_active_type_is_sent_as_a_download(self):
		admin = self.admin()
		page = b"<h1>Sign in</h1>"
		for name in ("a.HTM", "a.xht", "a.shtml", "a.svgz", "a.html.gz", "a.css", "data:,a.html", "a"):
			url = self.upload(admin, name, page + name.encode()).json["message"]["file_url"]
			answer = admin.open(url)
			self.assertTrue(answer.headers.get("Content-Disposition", "").startswith("attachment"), name)
		for name in ("a.png", "a.pdf", "a.txt", "a.csv", "a.mp3"):
			url = self.upload(admin, name, page + name.encode()).json["message"]["file_url"]
			answer = admin.open(url)
			self.assertFalse(answer.headers.get("Content-Disposition", "").startswith("attachment"), name)

	def test_a_website_user_cannot_store_a_page_by_any_endpoint(self):
		visitor = Browser()
		visitor.login(self.make_user("visitor@example.com", user_type="Website User"))
		row = {"doctype": "File", "file_name": "evil.html", "content": "<h1>Sign in</h1>"}
		for path, body in (
			("/api/resource/File", row),
			("/api/resource/File", {**row, "file_name": "data:,evil.html"}),
			("/api/v2/document/File", row),
			("/api/method/frappe.client.insert", {"doc": row}),
			("/api/method/frappe.client.save", {"doc": row}),
			("/api/method/frappe.client.insert_many", {"docs": [row]}),
		):
			answer = visitor.post(path, json=body)
			self.assertEqual(answer.status_code, 417, path)
			self.assertIn("You can only upload", answer.get_data(as_text=True))
		own = self.upload(visitor, "note.txt", b"<h1>Sign in</h1>", is_private="1").json["message"]["name"]
		values = {"file_name": "evil.html", "is_private": 0}
		answer = visitor.open(f"/api/resource/File/{own}", "PUT", json=values)
		self.assertEqual(answer.status_code, 417)
		self.assertEqual(
			frappe.db.count("File", {"file_url": ["like", "%.html"], "owner": "visitor@example.com"}), 0
		)

	def test_private_file_is_refused_to_other_users_and_guests(self):
		admin = self.admin()
		url = self.upload(admin, "secret.txt", b"mine", is_private="1").json["message"]["file_url"]
		self.assertTrue(url.startswith("/private/files/"))
		self.assertEqual(admin.open(url).data, b"mine")
		other = Browser()
		other.login(self.make_user("reader@example.com"))
		for browser in (other, Browser()):
			self.assertEqual(browser.open(url).status_code, 403)

	def test_file_record_with_the_url_of_a_private_file_is_refused(self):
		url = self.upload(self.admin(), "plan.txt", b"mine", is_private="1").json["message"]["file_url"]
		thief = Browser()
		thief.login(self.make_user("thief@example.com"))
		for flags in ({"is_private": 1}, {"is_private": 0}):
			row = {"doctype": "File", "file_name": "x.txt", "file_url": url, **flags}
			for path, body in (
				("/api/resource/File", {"json": row}),
				("/api/method/frappe.client.insert", {"json": {"doc": row}}),
				("/api/method/upload_file", {"data": {"file_url": url, **flags}}),
			):
				self.assertEqual(thief.post(path, **body).status_code, 403, path)
		own = self.upload(thief, "own.txt", b"theirs", is_private="1").json["message"]["name"]
		change = thief.open(f"/api/resource/File/{own}", "PUT", json={"file_url": url})
		self.assertEqual(change.status_code, 403)
		self.assertEqual(thief.open(url).status_code, 403)

	def test_content_uploaded_again_during_deletion_of_its_file_is_kept(self):
		values = {"doctype": "File", "file_name": "again.txt", "content": "the same"}
		first = frappe.get_doc(values).insert()
		frappe.db.commit()
		threads = []

		def upload():
			with opened(SITE, self.sites_path):
				frappe.get_doc(values).insert()
				frappe.db.commit()

		def upload_meanwhile(url):
			found = files_at(url)
			if not threads:
				threads.append(threading.Thread(target=upload))
				threads[0].start()
				threads[0].join(0.3)
			return found

		first.delete()
		with patch("frappe.core.doctype.file.file.files_at", upload_meanwhile):
			frappe.db.commit()
		threads[0].join()
		self.assertEqual(self.admin().open(first.file_url).get_data(as_text=True), "the same")

	def test_upload_by_a_guest_is_refused(self):
		self.assertEqual(self.upload(Browser(), "a.txt", b"x").status_code, 403)
