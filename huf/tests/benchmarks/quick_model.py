"""A model server that costs almost nothing: one event loop and constant answers.

	python -m huf.tests.benchmarks.quick_model TOOL     prints its base URL; ends when its standard input does

The prompt controls it: "5 0.05" is five replies with a tool call and then an answer, each after 0.05 seconds.
A third number is the calls per reply, as in "1 0 8". The first number is the chunks of a streamed answer.

HUF_BENCH_MODEL_HOST: the address on which it listens, 127.0.0.1 by default.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

HEAD = {"id": "1", "created": 1, "model": "quick"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@contextmanager
def quick_model(tool: str = "look") -> Iterator[str]:
	"""Start the server in a separate process; yields its base URL."""
	command = [sys.executable, "-m", "huf.tests.benchmarks.quick_model", tool]
	process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
	try:
		yield process.stdout.readline().strip()
	finally:
		process.stdin.close()
		process.wait(5)


class Connection(asyncio.Protocol):
	tool = "look"

	def connection_made(self, transport) -> None:
		self.transport, self.read = transport, b""

	def data_received(self, data: bytes) -> None:
		self.read += data
		head, found, rest = self.read.partition(b"\r\n\r\n")
		if not found:
			return
		length = int(
			next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))[15:]
		)
		if len(rest) >= length:
			body, self.read = json.loads(rest[:length]), rest[length:]
			self.answer(body)

	def answer(self, body: dict) -> None:
		messages = body["messages"]
		last = max(place for place, each in enumerate(messages) if each["role"] == "user")
		prompt = messages[last]["content"]
		numbers = prompt.split()
		# Other prompts, such as the request for a summary, are answered at once.
		turns, pause, calls = map(float, (*numbers, 1)[:3] if len(numbers) in (2, 3) else (0, 0, 1))
		done = sum(bool(each.get("tool_calls")) for each in messages[last:])
		if body.get("stream"):
			response = build_stream(int(turns))
		else:
			response = (
				build_completion(self.tool, done, int(calls))
				if done < turns
				else build_completion(None, done)
			)
		asyncio.get_running_loop().call_later(pause, self.transport.write, response)


def build_completion(tool: str | None, turn: int, calls: int = 1) -> bytes:
	message: dict = {"role": "assistant", "content": None if tool else "That is all."}
	if tool:
		message["tool_calls"] = [describe_call(tool, turn * calls + number) for number in range(calls)]
	choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if tool else "stop"}
	body = json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()
	return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
		len(body),
		body,
	)


def describe_call(tool: str, number: int) -> dict:
	function = {"name": tool, "arguments": json.dumps({"n": number})}
	return {"id": f"call_{number}", "type": "function", "function": function}


def build_stream(chunks: int) -> bytes:
	head = {**HEAD, "object": "chat.completion.chunk"}
	choices = [{"index": 0, "delta": {"content": f"{n} "}, "finish_reason": None} for n in range(chunks)]
	choices.append({"index": 0, "delta": {}, "finish_reason": "stop"})
	events = [json.dumps({**head, "choices": [choice]}) for choice in choices]
	events += [json.dumps({**head, "choices": [], "usage": USAGE}), "[DONE]"]
	body = "".join(f"data: {event}\n\n" for event in events).encode()
	head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n"
	return head % len(body) + body


async def main() -> None:
	Connection.tool = sys.argv[1]
	loop = asyncio.get_running_loop()
	host = os.environ.get("HUF_BENCH_MODEL_HOST", "127.0.0.1")
	server = await loop.create_server(Connection, host, 0, backlog=512)
	print(f"http://{host}:{server.sockets[0].getsockname()[1]}/v1", flush=True)
	await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
	asyncio.run(main())
