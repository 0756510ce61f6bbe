"""Masks personal data in what a model reads, and restores the real values in what it writes.

Records, tools and people see the real values; the model sees placeholders such as [EMAIL-1]. Within a run a
value keeps its placeholder.
"""

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from huf.ai.core.arguments import keep_alphanumerics
from huf.ai.core.attachments import drop_images
from huf.ai.core.costs import WorstCase
from huf.ai.core.errors import ModelError
from huf.ai.core.settings import find_cached, get_settings
from huf.ai.core.types import FACTS, PAST, ModelReply, Tool
from huf.ai.loop.model import Model, OnText, WrappedModel
from huf.ai.providers.personal_patterns import (
	AT,
	DIGITS,
	KINDS,
	PersonalKind,
	find_birth_dates,
	find_candidate_spans,
	read_patterns,
)
from huf.ai.providers.personal_records import get_record_values
from huf.ai.providers.record_values import Match, RecordValues

PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]*-\d+(?:\.\d+)?\]")
BEGINNING = re.compile(r"\[(?:[A-Z][A-Z0-9_]*(?:-(?:\d+(?:\.\d*)?)?)?)?$")
"""The beginning of a placeholder whose end has not arrived yet."""
KEPT = re.compile(rf'{PLACEHOLDER.pattern}|\\u[0-9a-fA-F]{{4}}|\\.|["\x00-\x1f]')
"""What stays outside of placeholders, so that values can be replaced in JSON text without escaping. A match
sees \\0 in its place.
"""
MASKED_PART = re.compile(r"[^\x00]*[^\W_][^\x00]*")
"""A part of a match between kept characters, as of a name that is broken over two lines."""
ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u(0[0-9a-fA-F]{3}|1[0-9a-fA-F]{3})")
ENTITY = re.compile(
	r"&(?:[A-Za-z]{1,2}(?:uml|acute|grave|circ|caron|cedil|tilde|ring)|szlig|nbsp|#\d{3,5}|#[xX][\da-fA-F]{2,4});"
)
INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
"""Invisible characters that break words."""
NO_VALUES = RecordValues()
NO_IMAGES = "Images are left out, because personal data in them cannot be masked. Say so where it matters."


def read_escape(found: re.Match) -> str:
	r"""Decode \u00fc in JSON text; characters that JSON must escape stay escaped."""
	code = int(found[2], 16)
	return found[1] + chr(code) if code >= 0xA0 else found[0]


def read_entity(found: re.Match) -> str:
	"""Decode &uuml; in HTML; characters that HTML must escape stay escaped."""
	char = html.unescape(found[0])
	return char if len(char) == 1 and ord(char) >= 0xA0 else found[0]


def merge(matches: Iterable[Match]) -> list[Match]:
	"""Sorted matches; overlapping ones are merged, so that no part of them stays unmasked."""
	merged: list[Match] = []
	for match in sorted(matches, key=lambda each: each.start):
		if not merged or match.start >= merged[-1].end:
			merged.append(match)
		elif match.end > merged[-1].end:
			merged[-1] = replace(merged[-1], end=match.end, key=(*merged[-1].key, *match.key), base="")
	return merged


def search_whole(kind: PersonalKind, text: str, span: tuple[int, int]) -> list[re.Match]:
	"""The matches in a span. Raises ModelError if the search takes too long: nothing is sent half masked."""
	try:
		return list(kind.pattern.finditer(text, *span))
	except TimeoutError:
		raise ModelError(
			f"The personal data pattern {kind.name} takes too long to match. Simplify it in Huf Settings."
		) from None


class Masker:
	"""The placeholders of one run.

	[NAME-1] stands for a value in its base form, [NAME-1.2] for another grammatical form. Endings added to
	the base form stay outside: [NAME-1]s. `wholes`: the values of several parts, by each part.
	"""

	def __init__(self, site_patterns: Sequence[PersonalKind] = (), records: RecordValues = NO_VALUES):
		self.kinds = (*site_patterns, *KINDS)
		self.records = records
		self.numbers: dict[tuple[str, tuple[str, ...]], int] = {}
		self.values: dict[str, str] = {}
		self.forms: dict[str, dict[str, str]] = {}
		self.wholes: dict[tuple[str, str], list[tuple[set[str], int]]] = {}
		self.counts: dict[str, int] = {}
		self.known: dict[str, str] = {}

	def mask(self, text: str) -> str:
		"""The text with placeholders. Equal texts get equal placeholders for the whole run."""
		if text not in self.known:
			self.known[text] = self.mask_new(text)
		return self.known[text]

	def mask_new(self, text: str) -> str:
		if "\\u" in text:
			text = ESCAPE.sub(read_escape, text)
		if "&" in text:
			text = ENTITY.sub(read_entity, text)
		if not text.isascii():
			text = INVISIBLE.sub("", unicodedata.normalize("NFC", text))
		parts, place = [], 0
		searched = KEPT.sub(lambda kept: "\x00" * len(kept[0]), text)
		for match in merge(self.find(searched)):
			for part in MASKED_PART.finditer(searched, match.start, match.end):
				parts += [text[place : part.start()], self.placeholder(match, part[0])]
				place = part.end()
		return "".join([*parts, text[place:]])

	def find(self, text: str) -> Iterator[Match]:
		"""The personal data in a text; of overlapping matches, the first determines the kind."""
		numbers = find_candidate_spans(text, DIGITS)
		spans = dict.fromkeys([kind.name for kind in KINDS], numbers)
		spans["EMAIL"] = find_candidate_spans(text, AT)
		for kind in self.kinds:
			group = "value" if "value" in kind.pattern.groupindex else 0
			for span in spans.get(kind.name, [(0, len(text))]):
				for found in search_whole(kind, text, span):
					value = found[group]
					if kind.is_valid(value):
						yield Match(*found.span(group), kind.name, (keep_alphanumerics(value),))
		for start, end in find_birth_dates(text, numbers, self.records.dates):
			yield Match(start, end, "BIRTH_DATE", (keep_alphanumerics(text[start:end]),))
		yield from self.records.find(text)

	def placeholder(self, match: Match, text: str) -> str:
		number = self.number(match)
		name = f"[{match.kind}-{number}]"
		base = self.values.setdefault(name, match.base or text)
		if text == base:
			return name
		forms = self.forms.setdefault(name, {})
		if text not in forms:
			forms[text] = other = f"[{match.kind}-{number}.{2 + len(forms)}]"
			self.values[other] = text
		return forms[text]

	def number(self, match: Match) -> int:
		"""The number of a value. A single name that is part of exactly one known full name gets that name's
		number.
		"""
		kind, key = match.kind, match.key
		if (kind, key) not in self.numbers:
			parts = set(key)
			# A list may have thousands of values, so only those that have the rarest part are compared.
			known = min((self.wholes.get((kind, part), []) for part in parts), key=len)
			whole = [number for full, number in known if parts < full]
			if len(whole) != 1:
				self.counts[kind] = self.counts.get(kind, 0) + 1
			self.numbers[kind, key] = number = whole[0] if len(whole) == 1 else self.counts[kind]
			for part in parts if len(parts) > 1 else ():
				self.wholes.setdefault((kind, part), []).append((parts, number))
		return self.numbers[kind, key]

	def unmask(self, text: str, is_json: bool = False) -> str:
		"""Text with the real values; unknown placeholders stay. `is_json`: some values need escapes."""

		def restore(found: re.Match) -> str:
			value = self.values.get(found[0], found[0])
			return json.dumps(value, ensure_ascii=False)[1:-1] if is_json else value

		return PLACEHOLDER.sub(restore, text)

	def mask_message(self, message: dict) -> dict:
		"""A masked message in OpenAI's format. Of a system message the author's part is not masked: facts and
		a summary of the conversation follow it.
		"""
		if message["role"] != "system":
			return self.mask_within(message)
		text = message["content"]
		start = min((text.index(mark) for mark in (FACTS, PAST) if mark in text), default=len(text))
		return {**message, "content": text[:start] + self.mask(text[start:])}

	def mask_within(self, value: Any) -> Any:
		if isinstance(value, dict):
			same = ("role", "type", "id", "tool_call_id", "name")
			return {key: each if key in same else self.mask_within(each) for key, each in value.items()}
		if isinstance(value, list):
			return [self.mask_within(each) for each in value]
		return self.mask(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class MaskedModel(WrappedModel):
	"""A model behind a Masker: it reads placeholders, and its replies are returned with the real values."""

	model: Model
	masker: Masker

	@property
	def reports_prompt_tokens(self) -> bool:
		return self.model.reports_prompt_tokens

	def mask(self, messages: list[dict]) -> list[dict]:
		return [self.masker.mask_message(drop_images(each, NO_IMAGES)) for each in messages]

	async def complete(
		self, messages: list[dict], tools: list[Tool], on_text: OnText, max_tokens: int | None = None
	) -> ModelReply:
		stream = UnmaskedStream(self.masker, on_text)
		try:
			reply = await self.model.complete(self.mask(messages), tools, stream.add, max_tokens)
		finally:
			stream.end()
		unmask = self.masker.unmask
		calls = tuple(replace(call, arguments=unmask(call.arguments, is_json=True)) for call in reply.calls)
		masked = dict(self.masker.counts)
		text, reasoning = unmask(reply.text), unmask(reply.reasoning)
		return replace(reply, text=text, reasoning=reasoning, calls=calls, masked=masked)

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase | None:
		return self.model.worst_case(self.mask(messages), tools, counted)


class UnmaskedStream:
	"""Streams text with the real values; holds back what may be the beginning of a placeholder."""

	def __init__(self, masker: Masker, on_text: OnText):
		self.masker, self.on_text, self.held, self.is_reasoning = masker, on_text, "", False

	def add(self, text: str, is_reasoning: bool = False) -> None:
		if is_reasoning != self.is_reasoning:
			self.end()
			self.is_reasoning = is_reasoning
		text = self.held + text
		beginning = BEGINNING.search(text)
		self.held = beginning[0] if beginning else ""
		self.pass_on(text[: len(text) - len(self.held)])

	def end(self) -> None:
		held, self.held = self.held, ""
		self.pass_on(held)

	def pass_on(self, text: str) -> None:
		if text:
			self.on_text(self.masker.unmask(text), is_reasoning=self.is_reasoning)


class MaskedModels:
	"""The models of one run, which share placeholders."""

	def __init__(self, agent_name: str | None):
		self.agent = find_cached("Agent", agent_name)

	def mask(self, model: Model) -> Model:
		"""The model, wrapped in a MaskedModel if the agent masks personal data."""
		return MaskedModel(model, self.masker) if masks_for(self.agent, model.is_local) else model

	@cached_property
	def masker(self) -> Masker:
		return make_masker()


def masks_for(agent: Any, is_local: bool) -> bool:
	"""Whether personal data is masked for this Agent and this model."""
	return bool(
		agent and agent.mask_personal_data and not (is_local and not get_settings().mask_for_local_models)
	)


def make_masker() -> Masker:
	return Masker(read_patterns(get_settings().mask_patterns), get_record_values())
