"""Web tools refuse private addresses, however they are written or hidden, and harmful responses."""

import socket
import threading
from unittest.mock import patch

from huf.ai.core.errors import ToolError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.tools import http
from huf.ai.tools.web import open_url
from huf.tests.ai.tools.pages import ARTICLE, Site, public
from huf.tests.base import SiteTestCase

PRIVATE = (
	*(
		"127.0.0.1",
		"localhost",
		"127.1",
		"127.255.255.254",
		"0.0.0.0",
		"10.0.0.1",
		"172.16.0.1",
		"192.168.1.1",
	),
	*("100.64.0.1", "169.254.169.254", "198.18.0.1", "224.0.0.1", "255.255.255.255"),
	# decimal, octal and hexadecimal
	*("2130706433", "017700000001", "0177.0.0.1", "0x7f000001", "0x7f.1", "2852039166"),
	# IPv6: loopback, embedded IPv4, unique local, metadata, link-local, NAT64, 6to4, multicast
	*(
		"[::1]",
		"[::]",
		"[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]",
		"[::127.0.0.1]",
		"[fc00::1]",
		"[fd00:ec2::254]",
	),
	*("[fe80::1]", "[fec0::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[ff02::1]"),
)
NO_ADDRESS = (
	"file:///etc/passwd",
	"ftp://example.com/x",
	"gopher://127.0.0.1:70/_x",
	"data:text/html,x",
	"//x/y",
	"",
)


class TestAddressesThatAreRefused(SiteTestCase):
	def refuse(self, url: str, reason: str) -> None:
		with self.subTest(url), self.assertRaisesRegex(ToolError, reason):
			run_coroutine(open_url(url))

	def test_open_url_refuses_private_addresses_in_every_notation(self):
		site = Site(self)
		for host in PRIVATE:
			self.refuse(f"http://{host}:{site.port}/", "is a private address|is not a canonical IPv4 address")
		self.assertEqual(site.seen, [])

	def test_refusal_names_the_private_address(self):
		self.refuse("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is a private address")
		self.refuse("http://[fd00:ec2::254]/", "fd00:ec2::254. is a private address")

	def test_open_url_refuses_schemes_other_than_http(self):
		for url in NO_ADDRESS:
			self.refuse(url, "is not an http")

	def test_open_url_refuses_user_names_and_tricks_before_the_host(self):
		site = Site(self)
		for url in (
			f"http://example.com@127.0.0.1:{site.port}/",
			f"http://a:b@localhost:{site.port}/",
			"http://@x/",
		):
			self.refuse(url, "user name")
		for url in (
			f"http://127.0.0.1:{site.port}#@example.com/",
			f"http://127.0.0.1:{site.port}\\.example.com/",
		):
			self.refuse(url, "private address|not an http|could not be reached")
		self.assertEqual(site.seen, [])

	def test_open_url_refuses_a_redirect_to_a_private_address(self):
		inside, outside = Site(self, "127.0.0.1"), Site(self, "127.0.0.2")
		public(self, "127.0.0.2")
		for target in (
			inside.add("/secret", "SECRET"),
			"http://169.254.169.254/",
			f"http://0x7f.1:{inside.port}/",
		):
			self.refuse(outside.redirect("/go", target), "is a private address")
		self.refuse(outside.redirect("/go", "file:///etc/passwd"), "is not an http")
		self.assertEqual(inside.seen, [])

	def test_open_url_refuses_dns_rebinding_to_a_private_address(self):
		outside = Site(self, "127.0.0.2")
		outside.add("/robots.txt", "")
		inside = Site(self, "127.0.0.1")
		public(self, "127.0.0.2")
		answers = [("127.0.0.2", outside.port), ("127.0.0.1", inside.port)]
		resolved, real = [], socket.getaddrinfo

		def rebind(host, port, *args, **kwargs):
			if host != "rebind.test":
				return real(host, port, *args, **kwargs)
			resolved.append(host)
			return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", answers[min(len(resolved), 2) - 1])]

		with patch("socket.getaddrinfo", rebind):
			self.refuse("http://rebind.test/", "rebind.test is a private address")
		self.assertEqual((len(resolved), outside.seen, inside.seen), (2, ["/robots.txt"], []))


class TestAnswersThatAreRefused(SiteTestCase):
	def setUp(self):
		super().setUp()
		self.site = Site(self)

	def refuse(self, url: str, reason: str, **options) -> None:
		with self.assertRaisesRegex(ToolError, reason):
			run_coroutine(http.send_request("GET", url, allow_private=True, **options))

	def test_response_above_2_mb_is_refused(self):
		self.refuse(self.site.add("/huge", "x" * 3_000_000), "larger than 2,000,000 bytes")

	def test_decompression_bomb_is_refused(self):
		self.refuse(self.site.bomb("/bomb"), "larger than 2,000,000 bytes")

	def test_endless_response_times_out(self):
		released = threading.Event()
		self.addCleanup(released.set)
		self.refuse(self.site.endless("/slow", released), "did not answer within 0.3 seconds", timeout=0.3)

	def test_page_that_is_not_text_is_refused(self):
		public(self, "127.0.0.1")
		with self.assertRaisesRegex(ToolError, "of the type image/png. Only text"):
			run_coroutine(open_url(self.site.add("/x.png", b"\x89PNG", "image/png")))

	def test_redirect_loop_is_refused(self):
		self.refuse(self.site.redirect("/round", "/round"), "More than 5 redirects")

	def test_ordinary_page_is_opened(self):
		public(self, "127.0.0.1")
		self.assertIn("leaks", run_coroutine(open_url(self.site.add("/page", ARTICLE)))["text"])
