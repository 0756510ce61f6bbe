"""One text for what is the same, by which calls, documents and conditions are told apart."""

import json
from typing import Any


def canonical(value: Any) -> str:
	"""JSON text that is the same for equal values."""
	return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
