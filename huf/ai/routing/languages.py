"""Guesses which of four languages a message is in, by function words and diacritics, and has the router's
texts for people in each (`texts.json`).
"""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

FUNCTION_WORDS = {
	"en": (
		"the a an is are was of to in for and what how do does did you my we our it that this with from on "
		"at please can i "
		"who which when where why has have not or be been make show me find search send create give write "
		"explain list"
	),
	"es": (
		"el la los las un una de del que en y a por para con es son qué cómo mi nos se su al lo si me no "
		"cuánto cuánta cuál quién "
		"dónde hay tengo busca buscar dame crea haz necesito puedes esta este muestra envía hola gracias "
		"explica resume hoy información"
	),
	"de": (
		"der die das ein eine einen und ist sind was wie ich du mir mich wir uns nicht für mit von zu im in "
		"den dem des auf wer wo "
		"wann warum welche bitte kannst hat haben wurde gib zeig such erstelle schreib unsere mein auch "
		"noch heute es"
	),
	"cs": (
		"je jsou co jak kdo kde kdy proč mi mě my nám se si na v ve z ze do s k a o od po pro za to ta ten "
		"jsem máme mám prosím "
		"kolik která který které najdi ukaž pošli vytvoř napiš nebo není už dnes jaký jaká naše vysvětli "
		"můžeš když aby"
	),
}
DIACRITICS = {"es": "ñ¿¡", "de": "äöüß", "cs": "ěščřžýůťďň"}
WORD = re.compile(r"[^\W\d_]+")
DIACRITIC_WEIGHT = 1.5
_WORDS = {language: frozenset(words.split()) for language, words in FUNCTION_WORDS.items()}
TEXTS_FILE = Path(__file__).with_name("texts.json")


def detect_language(text: str, default: str = "en") -> str:
	"""A code of `FUNCTION_WORDS`; `default` if nothing matches or in a tie that includes it."""
	low = text[:1_000].lower()
	words = WORD.findall(low)
	scores = {
		language: sum(word in known for word in words)
		+ DIACRITIC_WEIGHT * sum(low.count(letter) > 0 for letter in DIACRITICS.get(language, ""))
		for language, known in _WORDS.items()
	}
	best = max(scores.values())
	leading = [language for language, score in scores.items() if score == best]
	return leading[0] if best and (len(leading) == 1 or default not in leading) else default


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
