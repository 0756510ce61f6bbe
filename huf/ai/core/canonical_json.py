"""Canonical JSON: the comparison key for calls, documents and conditions."""

import json
from typing import Any


def to_canonical_json(value: Any) -> str:
	"""JSON text that is identical for equal values: sorted keys, no spaces, unknown types as `str`."""
	return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
