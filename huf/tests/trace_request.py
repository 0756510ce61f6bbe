"""Traces one chat message with one write tool through huf/api and huf/ai, on a temporary embedded site.

A move is a call of a function in another file than the previous call; functions outside huf/api and huf/ai
are ignored, and a coroutine or generator that resumes is not a new call.
"""

import argparse
import inspect
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import huf.embedded

huf.embedded.install()

HUF = Path(__file__).resolve().parent.parent
RESUMABLE = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR
TRACED = tuple(str(HUF / folder) + "/" for folder in ("api", "ai"))


class Trace:
	"""Counts the moves of all threads and lists the files in the order of their first call."""

	def __init__(self) -> None:
		self.files: dict[str, None] = {}
		self.last, self.moves = "", 0
		self.begun: set[FrameType] = set()

	def __call__(self, frame: FrameType, event: str, argument) -> None:
		name = frame.f_code.co_filename
		if event != "call" or not name.startswith(TRACED) or frame in self.begun:
			return
		if frame.f_code.co_flags & RESUMABLE:
			self.begun.add(frame)
		if name == self.last:
			return
		self.moves += bool(self.last)
		self.last = name
		self.files.setdefault(name)

	def __enter__(self) -> "Trace":
		threading.setprofile(self)
		sys.setprofile(self)
		return self

	def __exit__(self, *_) -> None:
		sys.setprofile(None)
		threading.setprofile(None)


def trace_message() -> Trace:
	"""The trace of the second of two equal messages; the first one loads modules and fills caches."""
	import frappe

	from huf.ai.agent_chat import send_agent_chat_message
	from huf.ai.core import tool_threads
	from huf.tests.factories import make_agent, make_model, make_tool
	from huf.tests.model_server import ModelServer, text, tool_call

	with ModelServer() as server:
		tool = make_tool("Create Document", reference_doctype="ToDo")
		agent = make_agent(make_model(server), (tool,))
		frappe.db.commit()
		for trace in (Trace(), Trace()):
			server.script(tool_call(tool, {"description": "Call Anna"}), text("Done."))
			tool_threads._idle.clear()  # a thread of the first message would keep the first trace
			with trace:
				answer = send_agent_chat_message(agent, "Remind me to call Anna")
			assert answer["success"], answer
	return trace


def main() -> int:
	from huf.embedded import site

	parser = argparse.ArgumentParser(description=__doc__)
	parser.add_argument("--max-files", type=int, help="fail above this number")
	parser.add_argument("--max-moves", type=int, help="fail above this number")
	options = parser.parse_args()
	home = Path(tempfile.mkdtemp(prefix="huf-trace-"))
	try:
		site.create(home, "a good password 7")
		with site.opened(home):
			trace = trace_message()
	finally:
		shutil.rmtree(home, ignore_errors=True)
	for file in trace.files:
		print(Path(file).relative_to(HUF.parent))
	returns = trace.moves - len(trace.files) + 1
	print(f"{len(trace.files)} files, {trace.moves} moves, of which {returns} to a file visited before")
	limits = ((options.max_files, len(trace.files)), (options.max_moves, trace.moves))
	return int(any(limit is not None and count > limit for limit, count in limits))


if __name__ == "__main__":
	sys.exit(main())
