"""The router's texts for people in four languages (`texts.json`); English for any other language."""

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

TEXTS_FILE = Path(__file__).with_name("texts.json")


@lru_cache(maxsize=1)
def read_texts() -> dict[str, dict[str, str]]:
	"""{key: {language: text}}; the keys plan_* are named after the `Need`s of a decision."""
	return json.loads(TEXTS_FILE.read_text(encoding="utf-8"))


def get_text(key: str, language: str) -> str:
	"""The text of a key; any other text, such as a reason that a site wrote, is returned unchanged."""
	texts = read_texts().get(key)
	if texts is None:
		return key
	return texts.get(language, texts["en"])


def suggest_plan(needs: Iterable[str], language: str) -> tuple[str, ...]:
	"""Suggested steps for tool needs, the last being the answer."""
	steps = [f"plan_{need}" for need in needs if f"plan_{need}" in read_texts()]
	return tuple(get_text(key, language) for key in [*steps, "plan_answer"])
