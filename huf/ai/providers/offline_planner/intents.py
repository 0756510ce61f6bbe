"""What a request comes to: a call of a tool, a question back, or a sentence. And what a call gave."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from huf.ai.providers.offline_planner.filters import Search
from huf.ai.providers.offline_planner.tools import Tool
from huf.ai.providers.offline_planner.words import Operation


@dataclass(frozen=True)
class Result:
	"""What a tool gave: `data` is parsed JSON, or the text itself. `error` is what went wrong, or None."""

	data: Any
	error: str | None = None


@dataclass(frozen=True)
class Call:
	"""One tool, called once for each of `arguments`. `then` makes the next intent of the first result: a call
	with it was only a look-up."""

	tool: Tool
	arguments: tuple[dict, ...]
	language: str = "en"
	operation: Operation | None = None
	search: Search | None = None
	then: Callable[[Result], "Intent"] | None = None


@dataclass(frozen=True)
class Ask:
	"""A question back; `resume` makes the next intent of the person's reply."""

	text: str
	resume: Callable[[str], "Intent"]


@dataclass(frozen=True)
class Say:
	"""A sentence. `unable`: it says that the request cannot be met."""

	text: str
	unable: bool = False


Intent = Call | Ask | Say


def read_result(content: Any) -> Result:
	"""A tool message's content: JSON or text. {"error": ...}, {"success": false} and "Error ..." are failures."""
	text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
	try:
		data = json.loads(text)
	except ValueError:
		failed = text.lower().startswith(("error", "traceback"))
		return Result(text, text if failed else None)
	if isinstance(data, dict) and (data.get("error") or data.get("success") is False):
		return Result(data, str(data.get("error") or data.get("message") or text))
	return Result(data)
