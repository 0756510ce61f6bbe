"""Transcribes recordings before they are sent, with the agent's own Speech to Text tool. Stores nothing."""

import base64

import frappe
from frappe import _

from huf.ai.agents.tool_factory import may_use_tool
from huf.ai.core.errors import ModelError, UsageError
from huf.ai.core.event_loops import run_coroutine
from huf.ai.providers import services
from huf.ai.runs import admission

SPEECH = "Speech to Text"
MAX_BYTES = 10_000_000
"""Limit per recording; about an hour of speech as browsers encode it."""
EXTENSIONS = {
	"audio/webm": "webm",
	"audio/mp4": "m4a",
	"audio/ogg": "ogg",
	"audio/wav": "wav",
	"audio/mpeg": "mp3",
}


def find_transcription_tool(agent):
	"""The Speech to Text tool of an Agent that the user may use, or None."""
	tools = (frappe.get_cached_doc("Agent Tool Function", row.tool) for row in agent.agent_tool)
	return next((tool for tool in tools if tool.types == SPEECH and may_use_tool(tool, agent)), None)


def transcribe_recording(agent: str, sound: str, kind: str) -> str:
	"""The text of a recording (base64, of a media type). Raises PermissionError, UsageError."""
	admission.admit(agent, frappe.session.user, chat=True)
	tool = find_transcription_tool(frappe.get_cached_doc("Agent", agent))
	if not tool:
		raise UsageError(
			_("{0} has no tool of the type {1} that you may use. A Huf Manager can add one.").format(
				agent, _(SPEECH)
			)
		)
	ending = EXTENSIONS.get(kind.split(";")[0].strip().lower())
	if not ending:
		raise UsageError(f"Send a recording of one of these types: {', '.join(EXTENSIONS)}.")
	if len(sound) > MAX_BYTES * 4 // 3:
		raise UsageError(
			_("A recording may have at most {0} MB. Record less at once.").format(MAX_BYTES // 1_000_000)
		)
	try:
		content = base64.b64decode(sound, validate=True)
	except ValueError:  # also for letters that are not ASCII
		raise UsageError("The recording is not base64.") from None
	try:
		heard = run_coroutine(services.transcribe_audio(tool.model, f"speech.{ending}", content))
	except ModelError as error:
		# The page shows people the last line of a UsageError.
		raise UsageError(" ".join(str(error).split())) from None
	return heard["text"].strip()
