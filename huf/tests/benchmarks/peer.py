"""Answers prompts with one agent framework, in a separate process started by `peers`. Does not import Huf.

	python huf/tests/benchmarks/peer.py NAME BASE_URL

It prints {import_s, memory_mb} once it is ready. For each JSON line {prompts, at_once} it answers them,
`at_once` concurrently, and prints {wall_ms, cpu_ms, memory_mb, seconds}. Every framework reuses its client,
as its documentation recommends.
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

KEY = "sk-benchmark"
SYSTEM = "You are an agent under test."
ANSWER = "That is all."
MAX_TURNS = 20
AnswerPrompt = Callable[[str], Awaitable[str]]


def look(n: int) -> str:
	"""Looks."""
	return f"found {n}"


TOOL = {
	"type": "function",
	"function": {
		"name": "look",
		"description": "Looks.",
		"parameters": {
			"type": "object",
			"properties": {"n": {"type": "integer"}},
			"required": ["n"],
		},
	},
}


async def make_aiohttp(base_url: str) -> AnswerPrompt:
	import aiohttp

	session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

	async def complete(messages: list) -> dict:
		body = {"model": "quick", "messages": messages, "tools": [TOOL]}
		headers = {"Authorization": f"Bearer {KEY}"}
		async with session.post(f"{base_url}/chat/completions", json=body, headers=headers) as response:
			return (await response.json())["choices"][0]["message"]

	return make_bare_loop(complete)


async def make_litellm(base_url: str) -> AnswerPrompt:
	import litellm

	litellm.telemetry = False

	async def complete(messages: list) -> dict:
		fixed = {"model": "openai/quick", "api_base": base_url, "api_key": KEY, "tools": [TOOL]}
		answer = await litellm.acompletion(**fixed, messages=messages)
		return answer.choices[0].message.model_dump()

	return make_bare_loop(complete)


def make_bare_loop(complete: Callable[[list], Awaitable[dict]]) -> AnswerPrompt:
	"""The smallest possible agent loop: no checks, nothing stored."""

	async def ask(prompt: str) -> str:
		messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
		while (message := await complete(messages)).get("tool_calls"):
			messages.append(message)
			for call in message["tool_calls"]:
				result = look(**json.loads(call["function"]["arguments"]))
				messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
		return message["content"]

	return ask


async def make_agno(base_url: str) -> AnswerPrompt:
	from agno.agent import Agent
	from agno.models.openai.like import OpenAILike
	from openai import AsyncOpenAI

	client = AsyncOpenAI(api_key=KEY, base_url=base_url)
	model = OpenAILike(id="quick", api_key=KEY, base_url=base_url, async_client=client)

	async def ask(prompt: str) -> str:
		agent = Agent(model=model, tools=[look], instructions=SYSTEM, telemetry=False)
		return (await agent.arun(prompt)).content

	return ask


async def make_openai_agents(base_url: str) -> AnswerPrompt:
	from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
	from openai import AsyncOpenAI

	set_tracing_disabled(True)
	client = AsyncOpenAI(api_key=KEY, base_url=base_url)
	model = OpenAIChatCompletionsModel(model="quick", openai_client=client)
	agent = Agent(name="Bench", instructions=SYSTEM, tools=[function_tool(look)], model=model)

	async def ask(prompt: str) -> str:
		return (await Runner.run(agent, prompt, max_turns=MAX_TURNS)).final_output

	return ask


async def make_pydantic_ai(base_url: str) -> AnswerPrompt:
	from pydantic_ai import Agent
	from pydantic_ai.models.openai import OpenAIChatModel
	from pydantic_ai.providers.openai import OpenAIProvider

	model = OpenAIChatModel("quick", provider=OpenAIProvider(base_url=base_url, api_key=KEY))
	agent = Agent(model, instructions=SYSTEM, tools=[look])

	async def ask(prompt: str) -> str:
		return (await agent.run(prompt)).output

	return ask


async def make_langgraph(base_url: str) -> AnswerPrompt:
	from langchain.agents import create_agent
	from langchain_openai import ChatOpenAI

	model = ChatOpenAI(model="quick", base_url=base_url, api_key=KEY)
	agent = create_agent(model, [look], system_prompt=SYSTEM)

	async def ask(prompt: str) -> str:
		result = await agent.ainvoke({"messages": [{"role": "user", "content": prompt}]})
		return result["messages"][-1].content

	return ask


PEERS = {
	"aiohttp": make_aiohttp,
	"LiteLLM": make_litellm,
	"Agno": make_agno,
	"OpenAI Agents": make_openai_agents,
	"pydantic-ai": make_pydantic_ai,
	"LangGraph": make_langgraph,
}


async def answer_all(ask: AnswerPrompt, prompts: list[str], at_once: int) -> list[float]:
	"""Seconds of each prompt, in order of completion."""
	free, seconds = asyncio.Semaphore(at_once), []

	async def answer(prompt: str) -> None:
		async with free:
			began = time.perf_counter()
			response = await ask(prompt)
			assert response == ANSWER, response
			seconds.append(time.perf_counter() - began)

	await asyncio.gather(*map(answer, prompts))
	return seconds


def memory_mb() -> float:
	"""Megabytes of proportional set size of this process; 0 without /proc."""
	status = Path("/proc/self/smaps_rollup")
	lines = status.read_text().splitlines() if status.exists() else []
	return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


async def main(name: str, base_url: str) -> None:
	began = time.perf_counter()
	ask = await PEERS[name](base_url)
	print(json.dumps({"import_s": time.perf_counter() - began, "memory_mb": memory_mb()}), flush=True)
	loop = asyncio.get_running_loop()
	while line := await loop.run_in_executor(None, sys.stdin.readline):
		request = json.loads(line)
		wall, cpu = time.perf_counter(), time.process_time()
		seconds = await answer_all(ask, request["prompts"], request["at_once"])
		used = {"wall_ms": (time.perf_counter() - wall) * 1000, "cpu_ms": (time.process_time() - cpu) * 1000}
		print(json.dumps({**used, "memory_mb": memory_mb(), "seconds": seconds}), flush=True)


if __name__ == "__main__":
	asyncio.run(main(*sys.argv[1:]))
