"""Sample exports of n8n and of OpenAI's Agent Builder."""

CHAT = "@n8n/n8n-nodes-langchain."
BUILDER = '''
from agents import Agent, ModelSettings, RunConfig, Runner, WebSearchTool, trace
from pydantic import BaseModel

web_search = WebSearchTool(search_context_size="medium")


class SortSchema(BaseModel):
  topic: str


def order_instructions(run_context, _agent):
  return " ".join(["Answer about", run_context.context.topic])


PROMPT = """Sort the question by topic."""

sort = Agent(
  name="Sort",
  instructions=PROMPT,
  model="gpt-4.1-mini",
  output_type=SortSchema,
  model_settings=ModelSettings(temperature=0.5, top_p=1, max_tokens=2048, store=True),
)
orders = Agent(name="Orders", instructions=order_instructions, model="gpt-4.1", tools=[web_search])


async def run_workflow(workflow_input):
  raise SystemExit("This must never run")

raise SystemExit("This must never run")
'''


def make_workflow(model: str = "gpt-4o-mini") -> dict:
	nodes = {
		"When a message comes": (f"{CHAT}chatTrigger", {}),
		"Order Agent": (
			f"{CHAT}agent",
			{
				"promptType": "define",
				"text": "={{ $json.chatInput }}",
				"options": {"systemMessage": "=You know orders. Today is {{ $now }}.", "maxIterations": 7},
			},
		),
		"Chat Model": (
			f"{CHAT}lmChatOpenAi",
			{
				"model": {"__rl": True, "mode": "list", "value": model},
				"options": {"temperature": 0.2, "maxTokens": 500, "timeout": 9},
			},
		),
		"Memory": (f"{CHAT}memoryBufferWindow", {}),
		"Look up": (f"{CHAT}toolHttpRequest", {"url": "https://shop.example"}),
		"A note": ("n8n-nodes-base.stickyNote", {"content": "Read me"}),
	}
	kinds = {"Chat Model": "ai_languageModel", "Memory": "ai_memory", "Look up": "ai_tool"}
	link = {
		name: {kind: [[{"node": "Order Agent", "type": kind, "index": 0}]]} for name, kind in kinds.items()
	}
	link["When a message comes"] = {"main": [[{"node": "Order Agent", "type": "main", "index": 0}]]}
	return {
		"nodes": [
			{"name": name, "type": each, "parameters": values, "typeVersion": 1.8}
			for name, (each, values) in nodes.items()
		],
		"connections": link,
	}
