"""The web app in a real browser: first page, a conversation of 2,000 messages, and a long streamed answer."""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from huf.tests.benchmarks.stub import other_process
from huf.tests.ports import find_free_port

ROUNDS = 5
MESSAGES = 2_000
TOKENS, PAUSE_S = 5_000, 0.002
"""Tokens of the long answer, about four letters each, and the seconds between two tokens."""
LONG_TASK_MS = 50
"""The browser does not report shorter tasks."""
TASK = "ThreadControllerImpl::RunTask"
WHEEL_PX, WHEEL_MS, MAX_WHEELS = 600, 30, 3_000
TITLE = "A long conversation"
WATCH = """() => {
	window.longTasks = [];
	const keep = (list) => longTasks.push(...list.getEntries().map((each) => Math.round(each.duration)));
	new PerformanceObserver(keep).observe({ type: "longtask" });
}"""
OPEN = """(name) => new Promise((resolve) => {
	const began = performance.now();
	document.querySelector(`[data-testid=conversation-item][data-name="${name}"] a`).click();
	const look = () => {
		const isThere = document.querySelector("[data-testid=message-agent] .md-table table");
		if (isThere) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
		else requestAnimationFrame(look);
	};
	look();
})"""
IS_AT_TOP = """() => {
	const thread = document.querySelector("[data-testid=thread]");
	return !thread.querySelector("[data-testid=older-place]") && thread.scrollTop === 0;
}"""
PARAGRAPH = """The offer for **customer {0}** waits since Monday. It holds `{0}` positions, two of which have no price yet, and
the [list](https://example.com/{0}) of last year says something else.

"""
RICH = """| Position | Pieces | Price |
|---|---|---|
| Bolt M{0} | {0} | 1.20 |
| Nut M{0} | {0} | 0.80 |

```python
total = sum(row.price * row.pieces for row in rows[:{0}])
```

- one of *{0}*
- and another

"""


def measure() -> None:
	"""Print each figure with its target, if Chromium is installed."""
	from huf.embedded.tests.browser import CHROMIUM

	if not CHROMIUM:
		print("Chromium is not installed, so nothing was measured.")
		return
	with (
		tempfile.TemporaryDirectory(prefix="huf-bench-") as home,
		other_process(serve_long_answer) as base_url,
	):
		measure_site(Path(home), base_url)


def measure_site(home: Path, base_url: str) -> None:
	from huf.embedded.tests.browser import open_page
	from huf.embedded.tests.server_test import PYTHON, Server
	from huf.embedded.tests.showcase import PASSWORD, Rest

	server = Server(home, find_free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
	try:
		rest = Rest(server)
		rest.make("AI Provider", provide_name="Bench", api_key="sk-1", api_base=base_url)
		rest.make("AI Model", model_name="bench", provider="Bench")
		rest.make("Agent", agent_name="Storyteller", model="bench")
		fill = [*PYTHON, "--home", str(home), "execute", "huf.tests.benchmarks.ui.fill_conversation"]
		subprocess.run(fill, check=True, capture_output=True, timeout=300)
		print_first_page(open_page, server.url, rest)
		with open_page(server.url) as page:
			rest.sign_in(page)
			print_long_conversation(page, conversation_of(rest))
		with open_page(server.url) as page:
			rest.sign_in(page)
			print_stream(page)
	finally:
		server.stop()


def conversation_of(rest) -> str:
	rows = rest.call("/api/method/huf.api.chat.get_conversations")["message"]
	return next(row["name"] for row in rows if row["title"] == TITLE)


def print_first_page(open_page, url: str, rest) -> None:
	from huf.embedded.tests.first_page import loaded_bytes, open_first_page

	times = []
	for _ in range(ROUNDS):
		with open_page(url) as page:
			rest.sign_in(page)
			times.append(open_first_page(page))
			javascript, everything = loaded_bytes(page)
	print_figure("first page usable, nothing cached", statistics.median(times), "ms", 1000)
	print_figure("JavaScript of the first page, gzip", javascript / 1000, "KB", 170)
	print_figure("everything that the first page loads, as sent", everything / 1000, "KB", 170)


def print_long_conversation(page, name: str) -> None:
	page.goto("/huf/chat?agent=Office%20Assistant")
	page.get_by_test_id("starter").first.wait_for()
	page.wait_for_load_state("networkidle")
	print_figure(f"opening {MESSAGES:,} messages, to the first paint", page.evaluate(OPEN, name), "ms", 500)
	page.wait_for_timeout(500)
	page.mouse.move(800, 400)
	with measure_longest_task(page, "scrolling to its first message"):
		wheels = 0
		while wheels < MAX_WHEELS and not page.evaluate(IS_AT_TOP):
			page.mouse.wheel(0, -WHEEL_PX)
			page.wait_for_timeout(WHEEL_MS)
			wheels += 1
	if not page.get_by_text("Message number 0.").count():
		sys.exit(f"The first message was not there after {wheels} turns of the wheel.")


def print_stream(page) -> None:
	page.goto("/huf/chat?agent=Storyteller")
	page.get_by_test_id("agent-picker").filter(has_text="Storyteller").wait_for()
	page.wait_for_load_state("networkidle")
	with measure_longest_task(page, f"an answer of {TOKENS:,} tokens as it comes"):
		page.get_by_test_id("composer").fill("Tell me")
		page.get_by_test_id("send").click()
		page.get_by_test_id("run-footer").wait_for(timeout=120_000)
		page.wait_for_timeout(300)


@contextmanager
def measure_longest_task(page, label: str) -> Iterator[None]:
	"""Print the longest task: its duration as the page observes it, and CPU time from the browser's trace.

	On a busy machine the duration includes waiting.
	"""
	page.evaluate(WATCH)
	page.context.browser.start_tracing(page=page, categories=["toplevel"])
	yield
	trace = json.loads(page.context.browser.stop_tracing())["traceEvents"]
	is_main = lambda each: each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"  # noqa: E731
	threads = {(each["pid"], each["tid"]) for each in trace if is_main(each)}
	tasks = [each for each in trace if each["name"] == TASK and (each["pid"], each["tid"]) in threads]
	long = page.evaluate("() => longTasks")
	print_figure(f"{label}, longest task", max(long, default=0), "ms", LONG_TASK_MS)
	print(
		f"  {len(long)} over {LONG_TASK_MS} ms; of processor time {max(each.get('tdur', 0) for each in tasks) / 1000:.0f} ms at most"
	)


def print_figure(label: str, value: float, unit: str, target: int) -> None:
	print(f"{label:<58} {value:6.0f} {unit} (target {target})")


def build_long_answer() -> str:
	text_so_far, number = "", 1
	while len(text_so_far) < TOKENS * 4:
		text_so_far += (RICH if number % 4 == 0 else PARAGRAPH).format(number)
		number += 1
	return text_so_far


def serve_long_answer(connection) -> None:
	from huf.tests.model_server import ModelServer, text

	with ModelServer(strict=False) as server:
		server.forever(text(build_long_answer(), chunk_size=4, pace=PAUSE_S))
		connection.send(server.base_url)
		connection.recv()


def fill_conversation() -> None:
	"""Executed on the site: insert a conversation of MESSAGES messages with tool calls and results."""
	import frappe

	from huf.ai.storage.conversations import ConversationManager

	manager = ConversationManager("Office Assistant", "chat", "bench")
	name = manager.get_or_create_conversation(title=TITLE)
	now = frappe.utils.now()
	fields = [
		"name",
		"creation",
		"modified",
		"owner",
		"modified_by",
		"conversation",
		"sequence",
		"role",
		"kind",
	]
	fields += ["tool_name", "tool_call_id", "content"]
	rows = [
		(
			frappe.generate_hash(length=10),
			now,
			now,
			"Administrator",
			"Administrator",
			name,
			number,
			*message(number),
		)
		for number in range(MESSAGES)
	]
	frappe.db.bulk_insert("Agent Message", fields, rows)
	frappe.db.set_value("Agent Conversation", name, "total_messages", MESSAGES)
	frappe.db.commit()


def message(number: int) -> tuple[str, str, str | None, str | None, str]:
	"""(role, kind, tool, call, content) of a message; each ten messages contain two calls and results."""
	place = number % 10
	call = f"call_{number // 2}"
	if place in (2, 6):
		return "agent", "Tool Call", "list_todos", call, '{"name": "list_todos", "arguments": {"limit": 3}}'
	if place in (3, 7):
		return "agent", "Tool Result", "list_todos", call, '[{"name": "a", "status": "Open"}, {"name": "b"}]'
	if place in (0, 5):
		return "user", "Message", None, None, f"Message number {number}. What about it?"
	return "agent", "Message", None, None, (RICH if place in (4, 9) else PARAGRAPH).format(number)
