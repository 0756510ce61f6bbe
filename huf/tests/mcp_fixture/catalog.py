"""A catalog of the tools, prompts, resources and questions that the MCP conformance suite expects."""

import asyncio
import json
import re

import mcp_types as types
from mcp.shared.exceptions import MCPError

from huf.ai.mcp.server.catalog import Catalog
from huf.tests.mcp_fixture.tools import IMAGE

NO_ARGUMENTS = {"type": "object", "properties": {}}
SCHEMA_2020_12 = {
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {
			"$anchor": "addressDef",
			"type": "object",
			"properties": {"street": {"type": "string"}, "city": {"type": "string"}},
		}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"},
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": False,
}
HEADER_SCHEMA = {
	"type": "object",
	"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
	"required": ["region"],
}


def elicit(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
	schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
	return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(question: str, tokens: int) -> types.CreateMessageRequest:
	message = types.SamplingMessage(role="user", content=types.TextContent(text=question))
	return types.CreateMessageRequest(
		params=types.CreateMessageRequestParams(messages=[message], max_tokens=tokens)
	)


NAME = {"user_name": elicit("What is your name?", "name")}
ROOTS = {"client_roots": types.ListRootsRequest()}
PREFIX = "test_input_required_result_"
QUESTIONS = {
	f"{PREFIX}elicitation": (NAME,),
	f"{PREFIX}sampling": ({"capital_question": sample("What is the capital of France?", 100)},),
	f"{PREFIX}list_roots": (ROOTS,),
	f"{PREFIX}request_state": ({"confirm": elicit("Please confirm", "ok", "boolean")},),
	f"{PREFIX}tampered_state": ({"confirm": elicit("Please confirm", "ok", "boolean")},),
	f"{PREFIX}multiple_inputs": ({**NAME, "greeting": sample("Generate a greeting", 50), **ROOTS},),
	f"{PREFIX}multi_round": (
		{"step1": elicit("Step 1: What is your name?", "name")},
		{"step2": elicit("Step 2: What is your favorite color?", "color")},
	),
	f"{PREFIX}capabilities": ({**NAME, "greeting": sample("Generate a greeting", 50)},),
	f"{PREFIX}prompt": ({"user_context": elicit("What context should the prompt use?", "context")},),
}
"""The questions to the client by tool or prompt, one dict per round."""
QUESTIONS["test_streaming_elicitation"] = (NAME,)
STATELESS = (
	"test_streaming_elicitation",
	f"{PREFIX}elicitation",
	f"{PREFIX}sampling",
	f"{PREFIX}list_roots",
	f"{PREFIX}prompt",
)
PROMPTS = {
	"test_simple_prompt": (),
	"test_prompt_with_arguments": ("arg1", "arg2"),
	"test_prompt_with_embedded_resource": ("resourceUri",),
	"test_prompt_with_image": (),
	f"{PREFIX}prompt": (),
}
TEMPLATE = re.compile(r"test://template/([^/]+)/data")


def text(words: str) -> types.TextContent:
	return types.TextContent(text=words)


def find_questions(ctx, name: str, params):
	"""The next questions of a tool or prompt, or None if all are answered."""
	rounds = QUESTIONS[name]
	place = int(params.request_state.removeprefix("round ")) if params.request_state else 0
	responses = params.input_responses or {}
	questions = rounds[place]
	is_answered = all(is_answered_by(question, responses.get(key)) for key, question in questions.items())
	place += is_answered
	if place == len(rounds):
		return None
	questions = {key: each for key, each in rounds[place].items() if is_supported(ctx, name, each)}
	state = None if name in STATELESS else f"round {place}"
	return types.InputRequiredResult(input_requests=questions, request_state=state)


def is_answered_by(question, response) -> bool:
	if isinstance(question, types.ElicitRequest):
		field = question.params.requested_schema["required"][0]
		return isinstance(response, types.ElicitResult) and field in (response.content or {})
	return response is not None


def is_supported(ctx, name: str, question) -> bool:
	if name != f"{PREFIX}capabilities":
		return True
	capabilities = ctx.session.client_capabilities
	kind = "elicitation" if isinstance(question, types.ElicitRequest) else "sampling"
	return getattr(capabilities, kind) is not None


class FixtureCatalog(Catalog):
	def list_tools(self):
		schemas = {
			"test_tool_with_progress": NO_ARGUMENTS,
			"test_missing_capability": NO_ARGUMENTS,
			"test_logging_tool": NO_ARGUMENTS,
			"json_schema_2020_12_tool": SCHEMA_2020_12,
			"test_x_mcp_header": HEADER_SCHEMA,
			**{name: NO_ARGUMENTS for name in QUESTIONS if name not in PROMPTS},
		}
		return [types.Tool(name=n, description=f"Fixture {n}", input_schema=s) for n, s in schemas.items()]

	async def call_tool(self, ctx, params):
		if params.name not in {tool.name for tool in self.list_tools()}:
			return None
		if params.name == "test_tool_with_progress":
			for progress in (0, 50, 100):
				await ctx.session.report_progress(progress, 100)
				await asyncio.sleep(0.05)
		if params.name == "test_logging_tool":
			await ctx.session.send_log_message("info", "For those who asked for it")
		if params.name == "test_missing_capability":
			required = {"requiredCapabilities": {"sampling": {}}}
			raise MCPError(
				code=types.MISSING_REQUIRED_CLIENT_CAPABILITY, message="Needs sampling", data=required
			)
		if params.name in QUESTIONS and (question := find_questions(ctx, params.name, params)):
			return question
		given = {k: v.model_dump(mode="json") for k, v in (params.input_responses or {}).items()}
		words = f"Hello, {given.get('user_name', {}).get('content', {})}! state-ok {json.dumps(given)}"
		return types.CallToolResult(content=[text(words)])

	def list_resources(self):
		return [
			types.Resource(
				uri=f"test://{name}", name=name, description=f"Fixture {name}", mime_type=mime_type
			)
			for name, mime_type in (("static-text", "text/plain"), ("static-binary", "image/png"))
		]

	def list_resource_templates(self):
		return [
			types.ResourceTemplate(
				uri_template="test://template/{id}/data", name="template", description="Data"
			)
		]

	async def read_resource(self, ctx, params):
		uri = params.uri
		if uri == "test://static-text":
			words = "This is the content of the static text resource."
			contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=words)
		elif uri == "test://static-binary":
			contents = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=IMAGE["data"])
		elif found := TEMPLATE.fullmatch(uri):
			data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
			contents = types.TextResourceContents(
				uri=uri, mime_type="application/json", text=json.dumps(data)
			)
		else:
			return None
		return types.ReadResourceResult(contents=[contents])

	def list_prompts(self):
		return [
			types.Prompt(
				name=name,
				description=f"Fixture {name}",
				arguments=[
					types.PromptArgument(name=each, description=each, required=True) for each in arguments
				],
			)
			for name, arguments in PROMPTS.items()
		]

	async def get_prompt(self, ctx, params):
		given = params.arguments or {}
		if params.name in QUESTIONS and (question := find_questions(ctx, params.name, params)):
			return question
		words = "Embedded resource content for testing."
		contents = {
			"test_simple_prompt": lambda: [text("This is a simple prompt for testing.")],
			"test_prompt_with_arguments": lambda: [
				text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
			],
			"test_prompt_with_embedded_resource": lambda: [
				types.EmbeddedResource(
					resource=types.TextResourceContents(
						uri=given["resourceUri"], mime_type="text/plain", text=words
					)
				),
				text("Please process the embedded resource above."),
			],
			"test_prompt_with_image": lambda: [
				types.ImageContent(data=IMAGE["data"], mime_type="image/png"),
				text("Please analyze the image above."),
			],
			f"{PREFIX}prompt": lambda: [text(json.dumps(params.input_responses, default=str))],
		}
		if params.name not in contents:
			return None
		messages = [types.PromptMessage(role="user", content=each) for each in contents[params.name]()]
		return types.GetPromptResult(messages=messages)

	def complete(self, params):
		return ["paris", "park", "party"] if getattr(params.ref, "name", "") in PROMPTS else None
