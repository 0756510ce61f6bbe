"""A scripted model in a process of its own, so that its work is not counted as ours."""

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager

from huf.tests.factories import make, make_tool
from huf.tests.model_server import ModelServer, text, tool_call


def turns(count: int, tool: str, arguments: dict):
	"""A model that calls a list tool `count` times for each user message, each time for the next row, then answers."""

	def answer(request: dict):
		messages = request["messages"]
		last = max(index for index, each in enumerate(messages) if each["role"] == "user")
		done = sum(each["role"] == "tool" for each in messages[last:])
		return tool_call(tool, {**arguments, "start": done}) if done < count else text("That is all.")

	return answer


def serve(connection, count: int, tool: str, arguments: dict) -> None:
	with ModelServer(strict=False) as server:
		server.forever(turns(count, tool, arguments))
		connection.send(server.base_url)
		connection.recv()


@contextmanager
def model_process(count: int, tool: str, arguments: dict) -> Iterator[str]:
	"""Start the model; gives its base URL."""
	context = multiprocessing.get_context("spawn")
	here, there = context.Pipe()
	process = context.Process(target=serve, args=(there, count, tool, arguments), daemon=True)
	process.start()
	try:
		yield here.recv()
	finally:
		here.send("stop")
		process.join(5)


def list_tool(rows: int) -> str:
	"""A Get List tool with so many rows to list, so that no call of a run is like another."""
	for number in range(rows):
		make("ToDo", description=f"Measure {number}")
	return make_tool("Get List", reference_doctype="ToDo")
