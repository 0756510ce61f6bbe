"""Names of OpenTelemetry's conventions for generative AI, which are still in development there."""

OPERATION = "gen_ai.operation.name"
INVOKE_AGENT, CHAT, EXECUTE_TOOL = "invoke_agent", "chat", "execute_tool"
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
RESPONSE_MODEL = "gen_ai.response.model"
FINISH_REASONS = "gen_ai.response.finish_reasons"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
CACHED_TOKENS = "gen_ai.usage.cache_read.input_tokens"
AGENT = "gen_ai.agent.name"
CONVERSATION = "gen_ai.conversation.id"
TOOL = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
CALL_ID = "gen_ai.tool.call.id"
ERROR_TYPE = "error.type"

# Contents, only where they are switched on.
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"
TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
TOOL_RESULT = "gen_ai.tool.call.result"

# Metrics, and the attribute that tells input from output.
TOKEN_USAGE = "gen_ai.client.token.usage"
DURATION = "gen_ai.client.operation.duration"
TOKEN_TYPE = "gen_ai.token.type"

# Huf's own: there is no convention for them.
RUN = "huf.run.name"
RUN_STATUS = "huf.run.status"
STOP_REASON = "huf.run.stop_reason"
CALL_STATUS = "huf.tool.call.status"
EFFECT = "huf.tool.effect"
COST = "huf.cost"
"""USD; left out where a price is unknown. Also the name of the metric."""

PROVIDERS = {
	"google": "gcp.gemini",
	"gemini": "gcp.gemini",
	"vertex ai": "gcp.vertex_ai",
	"azure": "azure.ai.openai",
	"azure openai": "azure.ai.openai",
	"bedrock": "aws.bedrock",
	"xai": "x_ai",
	"grok": "x_ai",
	"mistral": "mistral_ai",
	"mistralai": "mistral_ai",
	"claude": "anthropic",
}
"""Conventional names of providers; others are written in lower case."""


def normalize_provider(provider: str | None) -> str:
	name = (provider or "").strip().lower()
	return PROVIDERS.get(name, name) or "huf"
