"""A request that a kept connection loses is sent once more on a new connection."""

import asyncio
import unittest

import aiohttp

from huf.ai.providers.http_connections import get_session, post

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class ClosingServer:
	"""Answers the first `answers` requests of each connection, and closes it when the next one arrives."""

	def __init__(self, answers: int):
		self.answers, self.connections, self.requests = answers, 0, 0

	async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
		self.connections += 1
		for number in range(self.answers + 1):
			if not await reader.readline():
				break
			self.requests += 1
			while (await reader.readline()).strip():
				pass
			await reader.readexactly(4)
			if number < self.answers:
				writer.write(OK)
				await writer.drain()
		writer.close()


class TestKeptConnections(unittest.TestCase):
	def run_against(self, answers: int, requests: int) -> ClosingServer:
		async def run() -> ClosingServer:
			server = ClosingServer(answers)
			listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
			url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
			async with listener:
				try:
					for _ in range(requests):
						async with post(url, {}, b"body", 5, True) as response:
							self.assertEqual(await response.read(), b"ok")
				finally:
					await get_session().close()
			return server

		return asyncio.run(run())

	def test_each_request_that_a_kept_connection_loses_is_sent_on_a_fresh_one(self):
		server = self.run_against(answers=1, requests=20)
		self.assertGreaterEqual(server.connections, 20)

	def test_a_connection_that_is_kept_is_used_again(self):
		self.assertEqual(self.run_against(answers=20, requests=20).connections, 1)

	def test_a_fresh_connection_that_breaks_is_not_tried_again(self):
		with self.assertRaises(aiohttp.ServerDisconnectedError):
			self.run_against(answers=0, requests=1)
