"""HTTP transport to MCP servers, restricted to addresses that tools may reach and to a number of bytes."""

from collections.abc import AsyncIterator
from contextvars import Context, copy_context

import aiohttp
import httpx2

from huf.ai.core.contacts import record_contact
from huf.ai.core.errors import ToolError
from huf.ai.core.telemetry import trace_headers
from huf.ai.tools.http import host_of, make_socket_factory, to_tool_error

NOT_FORWARDED = (b"host", b"content-length", b"transfer-encoding", b"accept-encoding")


class GuardedTransport(httpx2.AsyncBaseTransport):
	"""Sends httpx requests through aiohttp, whose sockets are checked as for HTTP tools.

	`fault`: why the transport failed, which the SDK does not report. Compressed answers are refused, because
	their size is unknown before decompression. `by_silence`: the time-out counts from the last bytes
	received, and the caller limits the total. `begin` resets the byte count for the next call of a pooled
	session, and sets who gets statuses and the context in which contacts and traces are recorded.
	"""

	def __init__(
		self,
		allow_private: bool,
		max_bytes: int,
		timeout_s: float,
		by_silence: bool = False,
		statuses: list[int] | None = None,
		context: Context | None = None,
	):
		self.factory = make_socket_factory(allow_private)
		self.max_bytes = max_bytes
		self.begin(context or copy_context(), [] if statuses is None else statuses)
		total = None if by_silence else timeout_s
		self.timeout = aiohttp.ClientTimeout(total, sock_connect=timeout_s, sock_read=timeout_s)
		self.session: aiohttp.ClientSession | None = None

	def begin(self, context: Context, statuses: list[int]) -> None:
		self.context, self.statuses, self.remaining = context, statuses, self.max_bytes
		self.fault: str | None = None

	async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
		if self.session is None:
			self.session = aiohttp.ClientSession(
				connector=aiohttp.TCPConnector(
					socket_factory=lambda address: self.context.run(self.factory, address)
				),
				timeout=self.timeout,
				auto_decompress=False,
				trust_env=False,
				cookie_jar=aiohttp.DummyCookieJar(),
			)
		headers = [(k.decode(), v.decode()) for k, v in request.headers.raw if k.lower() not in NOT_FORWARDED]
		body = await request.aread()
		url = str(request.url)
		self.context.run(record_contact, "http", host_of(url))
		try:
			response = await self.session.request(
				request.method,
				url,
				headers=[*headers, *self.context.run(trace_headers).items(), ("Accept-Encoding", "identity")],
				data=body or None,
				allow_redirects=False,
			)
		except (aiohttp.ClientError, OSError, ValueError) as error:
			raise self.fail(str(to_tool_error(error, url))) from None
		if request.method == "POST":
			self.statuses.append(response.status)
		if response.headers.get("Content-Encoding", "identity") != "identity":
			response.close()
			raise self.fail("The server compresses its answers, which is not supported.")
		return httpx2.Response(
			response.status,
			headers=list(response.raw_headers),
			stream=CountedStream(self, response),
			request=request,
		)

	def take(self, size: int) -> None:
		"""Count received bytes. Raises once the limit is exceeded."""
		self.remaining -= size
		if self.remaining < 0:
			raise self.fail(f"The server sent more than {self.max_bytes:,} bytes.")

	def fail(self, fault: str) -> ToolError:
		self.fault = self.fault or fault
		return ToolError(fault)

	async def aclose(self) -> None:
		if self.session:
			await self.session.close()


class CountedStream(httpx2.AsyncByteStream):
	"""A response body whose bytes are counted."""

	def __init__(self, transport: GuardedTransport, response: aiohttp.ClientResponse):
		self.transport, self.response = transport, response

	async def __aiter__(self) -> AsyncIterator[bytes]:
		try:
			async for piece in self.response.content.iter_any():
				self.transport.take(len(piece))
				yield piece
		except (aiohttp.ClientError, OSError) as error:
			raise httpx2.ReadError(str(error)) from None

	async def aclose(self) -> None:
		# Do not wait for unread bodies: a stream may be endless.
		self.response.close()
