"""Malicious HTML: the embedded runtime processes it in time linear in its length."""

import unittest

from frappe.utils import is_html, sanitize_html, strip_html

from huf.tests.measuring import assert_bounded

CHARS = 300_000
UNITS = (
	"<",
	"<a ",
	"<a x=1 ",
	"<!--",
	"<ul><li>",
	"<div><p>",
	"<div></p>",
	"<b></div>",
	"<section>",
	"<blockquote>",
	"<table><b>",
	"<li><p>",
	"<td><p>",
	"<option>",
	"<svg><a>",
	"</b>",
	"<p><b>",
	"<font>",
	"<UL><Li>",
)


class TestHtml(unittest.TestCase):
	def test_malformed_html_is_processed_in_linear_time(self):
		for read in (sanitize_html, strip_html, is_html):
			for unit in UNITS:
				for last in ("", "!", ">"):
					with self.subTest(read.__name__, unit=unit, last=last):
						assert_bounded(
							self, read, lambda n, unit=unit, last=last: unit * (n // len(unit)) + last, CHARS
						)

	def test_a_long_tag_name_is_processed_in_linear_time(self):
		for read in (sanitize_html, strip_html, is_html):
			with self.subTest(read.__name__):
				assert_bounded(self, read, lambda n: "<" + "a-" * (n // 2), CHARS)

	def test_ordinary_html_is_kept(self):
		for html in (
			"<p>one<p>two<br>" * 1000,
			"<ul><li>a<li>b</ul>" * 1000,
			"<div><b>x</b></div>" * 1000,
			"<table><tbody><tr><td>1</td></tr></tbody></table>" * 500,
			"<blockquote>" * 50 + "deep" + "</blockquote>" * 50,
		):
			with self.subTest(html[:30]):
				self.assertNotIn("&lt;", sanitize_html(html))
