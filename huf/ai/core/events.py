"""The events of a run, as its listeners and streams receive them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class EventKind(str, Enum):
	RUN_QUEUED = "run_queued"
	RUN_STARTED = "run_started"
	TEXT_DELTA = "text_delta"
	TEXT_DONE = "text_done"
	"""Flushes text that is held back; listeners never receive it."""
	TEXT_VOID = "text_void"
	REASONING_DELTA = "reasoning_delta"
	TOOL_STARTED = "tool_started"
	PROGRESS = "progress"
	TOOL_FINISHED = "tool_finished"
	DRAFT_CREATED = "draft_created"
	RUN_WAITING = "run_waiting"
	RUN_FINISHED = "run_finished"


@dataclass(frozen=True)
class RunEvent:
	"""Something that happened in a run.

	`number`: its place among the run's events; 0 for one replayed from the record.
	"""

	kind: EventKind
	run: str
	data: dict[str, Any] = field(default_factory=dict)
	number: int = 0


Listener = Callable[[RunEvent], None]
Emit = Callable[[EventKind, dict[str, Any]], None]
