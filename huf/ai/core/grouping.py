"""Groups values by a key."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


def group_pairs(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
	"""{key: its values} of (key, value) pairs, both in the order in which they come."""
	groups: dict[Key, list[Value]] = {}
	for key, value in pairs:
		groups.setdefault(key, []).append(value)
	return groups
