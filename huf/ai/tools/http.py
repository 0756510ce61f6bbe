"""Sends the HTTP requests of tools, only to addresses that a tool may reach.

Every IP address is checked when the socket is opened, so neither DNS rebinding nor a redirect gets past the
check. A tool's headers are sent to the host of its base URL only.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from huf.ai.core.contacts import record_contact
from huf.ai.core.errors import OutcomeUnknown, ToolError
from huf.ai.core.json_text import read_json_or_text, to_text
from huf.ai.core.secret_text import HIDDEN
from huf.ai.core.telemetry import trace_headers
from huf.ai.core.text_decoding import decode_bytes

MAX_RESPONSE_BYTES = 2_000_000
MAX_REDIRECTS = 5
NAT64_NETWORK = ipaddress.IPv6Network("64:ff9b::/96")
REDIRECT_STATUSES = {301, 302, 303, 307, 308}
MAX_ERROR_CHARS = 2_000
TEXT_TYPES = (
	"text/",
	"application/json",
	"application/problem+json",
	"application/xml",
	"application/javascript",
	"application/xhtml",
	"application/yaml",
	"application/x-yaml",
	"application/vnd.oai.openapi",
)


class PrivateAddress(OSError):
	pass


class PrivateAddressRefused(ToolError):
	def __init__(self, host: str):
		super().__init__(f"{host} is a private address; only public ones may be reached.")
		self.host = host


async def send_request(
	method: str,
	url: str,
	*,
	base_url: str | None = None,
	headers: Mapping[str, str] | None = None,
	params: Mapping[str, Any] | None = None,
	body: Any = None,
	allow_private: bool = False,
	timeout: float = 60,
	idempotency_key: str | None = None,
	before_each: Callable[[str], Awaitable[None]] | None = None,
) -> dict:
	"""Send a request; return {status, url, content_type, body}, with JSON parsed.

	Args:
		headers: may hold credentials, so they restrict the call to the base URL's host; `idempotency_key`
			does not
		timeout: seconds for the whole call
		before_each: awaited with each URL before it is requested, redirects included; may raise

	Raises ToolError for an address that may not be reached, a time-out or a response that is too large;
	OutcomeUnknown where the service may have carried out the request nevertheless.
	"""
	import aiohttp

	url = resolve_url(url, base_url, tied=bool(headers))
	sent = {**trace_headers(), **(headers or {})}
	if idempotency_key:
		sent["Idempotency-Key"] = idempotency_key
	open_socket = make_socket_factory(allow_private)
	connector = aiohttp.TCPConnector(socket_factory=open_socket, limit=1, force_close=True)
	limits = aiohttp.ClientTimeout(total=timeout)
	begun: list[str] = []

	async def begin(each: str) -> None:
		if before_each:
			await before_each(each)
		begun.append(each)

	try:
		async with aiohttp.ClientSession(connector=connector, timeout=limits, trust_env=False) as session:
			query = {key: to_text(value) for key, value in (params or {}).items()}
			tied_base_url = base_url if headers else None
			return await follow_redirects(session, method, url, tied_base_url, sent, query, body, begin)
	except (ToolError, asyncio.TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
		failure = to_tool_error(error, url, timeout)
		if method == "GET" or not begun or (len(begun) == 1 and was_not_sent(error)):
			raise failure from None
		raise OutcomeUnknown(str(failure)) from None


def was_not_sent(error: Exception) -> bool:
	"""Whether an error of a request shows that no connection was made for it."""
	import aiohttp

	# A host name that cannot exist is a UnicodeError.
	return isinstance(error, aiohttp.ClientConnectorError | aiohttp.InvalidURL | UnicodeError)


def check_accepted(answer: dict) -> dict:
	"""The answer to a request that changes something. Raises ToolError if the service refused it, and
	OutcomeUnknown if it failed, perhaps after the change.
	"""
	if answer["status"] < 400:
		return answer
	raise (ToolError if answer["status"] < 500 else OutcomeUnknown)(quote_failure(answer))


def quote_failure(answer: dict) -> str:
	quoted = to_text(answer["body"] or answer.get("note", ""))
	message = f"{host_of(answer['url'])} answered with status {answer['status']}: {quoted}"
	return message[:MAX_ERROR_CHARS].rstrip(": ")


def describe_request(
	method: str,
	url: str,
	*,
	base_url: str | None = None,
	headers: Iterable[str] = (),
	params: Mapping[str, Any] | None = None,
	body: Any = None,
) -> dict:
	"""What `send_request` would send, for approval: {method, url, headers, body}; values of headers are
	masked.
	"""
	headers = list(headers)
	url = resolve_url(url, base_url, tied=bool(headers))
	query = urlencode({key: to_text(value) for key, value in (params or {}).items()})
	whole = f"{url}{'&' if '?' in url else '?'}{query}" if query else url
	return {"method": method, "url": whole, "headers": dict.fromkeys(headers, HIDDEN), "body": body}


async def follow_redirects(session, method, url, tied_base_url, headers, params, body, begin) -> dict:
	"""Send, and follow redirects, each checked like the first URL; with `tied_base_url` only within its
	origin.
	"""
	asked = method
	for _ in range(MAX_REDIRECTS + 1):
		await begin(url)
		record_contact("http", host_of(url))
		options = {"headers": headers, "params": params or None, "allow_redirects": False}
		if body is not None:
			options["json"] = body
		async with session.request(method, url, **options) as response:
			target = response.headers.get("Location")
			if response.status not in REDIRECT_STATUSES or not target:
				answer = await read_http_response(response)
				if method != asked and answer["status"] >= 400:
					# The request itself was accepted; only the page about it is missing.
					raise ToolError(quote_failure(answer))
				return answer
			url = resolve_url(urljoin(str(response.url), target), tied_base_url, tied=bool(tied_base_url))
			params = None
			if response.status == 303 or (response.status in (301, 302) and method == "POST"):
				method, body = "GET", None
	raise ToolError(f"More than {MAX_REDIRECTS} redirects.")


async def read_http_response(response) -> dict:
	content = bytearray()
	async for piece in response.content.iter_any():
		content += piece
		if len(content) > MAX_RESPONSE_BYTES:
			raise ToolError(f"The answer is larger than {MAX_RESPONSE_BYTES:,} bytes.")
	kind = response.content_type or ""
	text = decode_bytes(bytes(content), response.charset) if kind.startswith(TEXT_TYPES) or not kind else None
	answer = {"status": response.status, "url": str(response.url), "content_type": kind}
	if text is None:
		return {**answer, "body": None, "bytes": len(content), "note": "Not text, so the body is left out."}
	return {**answer, "body": read_json_or_text(text) if kind.endswith("json") else text}


def resolve_url(url: str, base_url: str | None, tied: bool) -> str:
	"""The URL to call, on the base URL's scheme, host and port if there is one. Raises ToolError.

	`tied`: the call carries credentials, so that a redirect stays there too.
	"""
	is_path = bool(base_url) and "://" not in url.partition("?")[0]
	try:
		whole = urljoin(f"{base_url.rstrip('/')}/", url.lstrip("/") if is_path else url) if base_url else url
		host = urlsplit(whole).hostname or ""
		# Resolvers read a name up to a NUL, so evil.example\0.allowed.example would be evil.example.
		is_address = urlsplit(whole).scheme in ("http", "https") and bool(host) and host.isprintable()
		# A path such as "\t//evil.example" leads to another host, because urlsplit drops the tab.
		leaves = is_address and base_url and origin_of(whole) != origin_of(base_url)
	except ValueError:
		raise ToolError(f"{url!r} is not an http(s) address.") from None
	if not is_address:
		raise ToolError(f"{whole!r} is not an http(s) address.")
	if base_url and leaves:
		record_contact("http", host_of(whole), refused=True)
		why = "carries credentials and may only call" if tied else "takes only addresses of"
		raise ToolError(f"This tool {why} {urlsplit(base_url).scheme}://{host_of(base_url)}.")
	return whole


def origin_of(url: str) -> tuple:
	"""(scheme, host, port) of a URL."""
	parts = urlsplit(url)
	return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def host_of(url: str) -> str:
	return urlsplit(url).netloc.rpartition("@")[2]


def make_socket_factory(allow_private: bool):
	"""A function that aiohttp calls with the resolved address of each connection."""

	def open_socket(address_info):
		family, kind, protocol, _, address = address_info
		if not allow_private and not is_public(address[0]):
			record_contact("http", address[0], refused=True)
			raise PrivateAddress(f"{address[0]} is not a public address")
		return socket.socket(family=family, type=kind, proto=protocol)

	return open_socket


def is_public(address: str) -> bool:
	ip = ipaddress.ip_address(address.partition("%")[0])
	if ip.version == 6 and (
		inner := ip.ipv4_mapped or ip.sixtofour or (ip.teredo or (None, None))[1] or extract_nat64_address(ip)
	):
		ip = inner
	odd = ip.is_multicast or ip.is_reserved or getattr(ip, "is_site_local", False)
	return ip.is_global and not odd


def extract_nat64_address(ip: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
	"""The IPv4 address inside one of 64:ff9b::/96 (NAT64)."""
	return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF) if ip in NAT64_NETWORK else None


def to_tool_error(error: BaseException, url: str, timeout: float = 0) -> ToolError:
	if isinstance(error, ToolError):
		return error
	if isinstance(error, asyncio.TimeoutError):
		return ToolError(f"{host_of(url)} did not answer within {timeout:g} seconds.")
	seen: BaseException | None = error
	while seen is not None:
		inner = [seen, *getattr(seen, "exceptions", ())]
		if any(isinstance(each, PrivateAddress) for each in inner) or "is not a public address" in str(seen):
			return PrivateAddressRefused(host_of(url))
		seen = seen.__cause__ or seen.__context__
	return ToolError(f"{host_of(url)} could not be reached: {error}")
