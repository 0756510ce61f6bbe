"""Writes runs to the log: a line for the start and for each call, a JSON object for the end.

Calls are logged at debug level, because their arguments are user data. Prompts are cut.
"""

import logging
from datetime import datetime, timezone

import frappe

from huf.ai.core.arguments import to_text
from huf.ai.core.events import EventKind, Listener, RunEvent
from huf.ai.core.types import RunStatus, StopReason
from huf.ai.storage.rows import clip

EXTERNAL_STATUSES = {RunStatus.SUCCESS.value: "completed", RunStatus.CANCELLED.value: "cancelled"}
"""Other front ends know three statuses of an ended run; any other status is `failed`."""
EXTERNAL_FAILED = "failed"
LEVEL_OF = {StopReason.MAX_STEPS: "warn", StopReason.ERROR: "error", StopReason.TOOL_FAILURES: "error"}
LEVELS = {"info": logging.INFO, "warn": logging.WARNING, "error": logging.ERROR}
MAX_OBJECTIVE_CHARS = 60


def build_log_listener(objective: str) -> Listener:
	"""A listener that logs one run."""
	tools: dict[str, None] = {}

	def listen(event: RunEvent) -> None:
		data = event.data
		if event.kind is EventKind.RUN_STARTED:
			frappe.logger("huf").info(
				'[AgentRunner] Starting agent run for objective: "%s"', shorten_objective(objective)
			)
		elif event.kind is EventKind.TOOL_STARTED:
			tools[data["tool"]] = None
			log_call("Step %s: %s(%s)", data["step"] - 1, data["tool"], data["arguments"])
		elif event.kind is EventKind.TOOL_FINISHED:
			log_call(
				"Step %s completed: success=%s, duration=%sms",
				data["step"] - 1,
				data["ok"],
				data["duration_ms"],
			)
		elif event.kind is EventKind.RUN_FINISHED:
			line = describe_end(event.run, data, list(tools))
			frappe.logger("huf").log(LEVELS[line["level"]], to_text(line))

	return listen


def log_call(form: str, *values) -> None:
	log = frappe.logger("huf")
	if log.isEnabledFor(logging.DEBUG):
		log.debug(f"[AgentRunner] {form}", *map(to_text, values))


def describe_end(run: str, data: dict, tools: list[str]) -> dict:
	now = datetime.now(timezone.utc)
	return {
		"timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
		"level": LEVEL_OF.get(StopReason(data["stop_reason"]), "info"),
		"component": "AgentRunner",
		"event": "run_completed",
		"run_id": run,
		"route": "agent",
		"tools_used": tools,
		"steps": data["steps"],
		"duration_ms": data["duration_ms"],
		"status": EXTERNAL_STATUSES.get(data["status"], EXTERNAL_FAILED),
	}


def shorten_objective(text: str) -> str:
	return clip(" ".join(text.split()), MAX_OBJECTIVE_CHARS)
