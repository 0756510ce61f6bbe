"""Masks personal data in what a model reads, and puts the real values back into what it writes.

Records, tools and people have the real values, the model has placeholders such as [EMAIL-1]. Within a run the
same value has the same placeholder.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from huf.ai.core.attachments import drop_images
from huf.ai.core.costs import WorstCase
from huf.ai.core.types import PAST, ModelReply, Tool
from huf.ai.loop.context_window import Room
from huf.ai.loop.model import Model, OnText

PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]*-\d+\]")
BEGINNING = re.compile(r"\[(?:[A-Z][A-Z0-9_]*(?:-\d*)?)?$")
"""A placeholder whose end has not arrived yet."""
KEPT = re.compile(rf'({PLACEHOLDER.pattern}|\\u[0-9a-fA-F]{{4}}|\\.|["\x00-\x1f])')
"""What no match may reach over: so every value can be put into JSON text and taken out of it as it is."""
SITE_PATTERN = re.compile(r"([A-Z][A-Z0-9_]*)\s*:\s*(\S.*)")
PHONE = "|".join(
	(
		r"(?<![\w+])(?:\+|00)[1-9](?:[ ./()-]{0,2}\d){6,13}(?!\w)",
		r"(?<![\w./:,-])\(?0[1-9]\d{0,4}\)?[ /-]{0,2}\d(?:[ /.-]?\d){4,10}(?![\w-])",
		r"(?<![\w.,-])\(?[2-9]\d{2}\)?[ .-]\d{3}[ .-]\d{4}(?![\w-])",
		r"(?<![\w.,-])[6-9]\d{2} \d{3} \d{3}(?![\w-])",
	)
)
DATE = re.compile(r"\d{1,2}([-./ ])\d{1,2}\1\d{4}")


def is_iban(text: str) -> bool:
	plain = text.replace(" ", "")
	return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def is_card(text: str) -> bool:
	digits = [int(sign) for sign in text if sign.isdigit()][::-1]
	return (sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])) % 10 == 0


def is_phone(text: str) -> bool:
	return not DATE.match(text)


Kinds = Mapping[str, tuple[re.Pattern, Callable[[str], bool]]]
KINDS: Kinds = {
	"EMAIL": (re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"), bool),
	"IBAN": (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), is_iban),
	"CARD": (re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])"), is_card),
	"PHONE": (re.compile(PHONE), is_phone),
}
"""What is masked for every site: a pattern, and what tells it from what only looks like it. Repetitions are
bounded, so that no text takes long to read.
"""


def read_patterns(text: str | None) -> Kinds:
	"""A site's own patterns, one `NAME: regular expression` a line. Raises ValueError that names the line."""
	kinds: dict[str, tuple[re.Pattern, Callable[[str], bool]]] = {}
	for line in filter(None, map(str.strip, (text or "").splitlines())):
		parts = SITE_PATTERN.fullmatch(line)
		if not parts:
			raise ValueError(f"{line!r} is not NAME: regular expression, with NAME in capitals.")
		name, expression = parts.groups()
		if name in {**KINDS, **kinds}:
			raise ValueError(f"{line!r}: {name} is there already. Choose another name.")
		try:
			kinds[name] = (re.compile(expression), bool)
		except re.error as error:
			raise ValueError(f"{line!r} is not a regular expression: {error}.") from None
		if kinds[name][0].match(""):
			raise ValueError(f"{line!r} fits an empty text, too.")
	return kinds


NO_IMAGES = "Images are left out, because personal data in them cannot be masked. Say so where it matters."


class Masker:
	"""The placeholders of one run."""

	def __init__(self, site_patterns: Kinds | None = None):
		self.kinds = {**(site_patterns or {}), **KINDS}
		self.placeholders: dict[str, str] = {}
		self.values: dict[str, str] = {}
		self.counts: dict[str, int] = {}
		self.known: dict[str, str] = {}

	def mask(self, text: str) -> str:
		"""The text with placeholders; what it was once, it stays."""
		if text not in self.known:
			self.known[text] = self.mask_new(text)
		return self.known[text]

	def mask_new(self, text: str) -> str:
		for kind, (pattern, fits) in self.kinds.items():
			parts = KEPT.split(text)
			parts[::2] = [self.replace_in(part, kind, pattern, fits) for part in parts[::2]]
			text = "".join(parts)
		return text

	def replace_in(self, text: str, kind: str, pattern: re.Pattern, fits: Callable[[str], bool]) -> str:
		return pattern.sub(
			lambda found: self.placeholder(kind, found[0]) if fits(found[0]) else found[0], text
		)

	def placeholder(self, kind: str, value: str) -> str:
		if value not in self.placeholders:
			self.counts[kind] = self.counts.get(kind, 0) + 1
			self.placeholders[value] = name = f"[{kind}-{self.counts[kind]}]"
			self.values[name] = value
		return self.placeholders[value]

	def unmask(self, text: str) -> str:
		"""Text with the real values; a placeholder that stands for nothing stays."""
		return PLACEHOLDER.sub(lambda found: self.values.get(found[0], found[0]), text)

	def mask_message(self, message: dict) -> dict:
		"""A message in OpenAI's form as the model may read it. What an agent's author wrote is left alone."""
		if message["role"] != "system":
			return self.mask_within(message)
		own, mark, past = message["content"].partition(PAST)
		return {**message, "content": own + mark + self.mask(past)} if mark else message

	def mask_within(self, value: Any) -> Any:
		if isinstance(value, dict):
			same = ("role", "type", "id", "tool_call_id", "name")
			return {key: each if key in same else self.mask_within(each) for key, each in value.items()}
		if isinstance(value, list):
			return [self.mask_within(each) for each in value]
		return self.mask(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class MaskedModel:
	"""The same model, which never reads personal data; its replies have the real values in them again."""

	model: Model
	masker: Masker

	@property
	def retries(self) -> int:
		return self.model.retries

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
		calls = tuple(replace(call, arguments=self.masker.unmask(call.arguments)) for call in reply.calls)
		return replace(reply, text=self.masker.unmask(reply.text), calls=calls)

	def worst_case(
		self, messages: list[dict], tools: list[Tool], counted: tuple[int, int] = (0, 0)
	) -> WorstCase | None:
		return self.model.worst_case(self.mask(messages), tools, counted)

	def room(self, tools: list[Tool]) -> Room | None:
		return self.model.room(tools)


class UnmaskedStream:
	"""Passes text on with the real values in it; holds back what may be the beginning of a placeholder."""

	def __init__(self, masker: Masker, on_text: Callable[[str], None]):
		self.masker, self.on_text, self.held = masker, on_text, ""

	def add(self, text: str) -> None:
		text = self.held + text
		beginning = BEGINNING.search(text)
		self.held = beginning[0] if beginning else ""
		self.pass_on(text[: len(text) - len(self.held)])

	def end(self) -> None:
		self.pass_on(self.held)

	def pass_on(self, text: str) -> None:
		if text:
			self.on_text(self.masker.unmask(text))
