"""Maps words of four languages to concepts, so that training in one language helps in the others. Pure.

The words are in `lexicon.json`, in lower case without accents: word* is a prefix, *word a suffix, and
underscores join the words of a phrase. Each list is one text, cut into lines.
"""

import json
from enum import Enum
from pathlib import Path

LEXICON_FILE = Path(__file__).with_name("lexicon.json")


class Concept(str, Enum):
	"""What a word says about a message.

	Values are terms of the trained model: change them only with a new training.
	"""

	WHAT = "what"
	WHO = "who"
	HOW = "how"
	HOW_MANY = "how_many"
	WHY = "why"
	WHEN = "when"
	WHERE = "where"
	WHICH = "which"
	IS = "is"
	MEANS = "means"
	GENERAL = "general"
	ADVICE = "advice"
	DRAFT = "draft"
	TEXT = "text"
	CODE = "code"
	DEED = "deed"
	SEND = "send"
	LOOK = "look"
	TELL = "tell"
	RECORD = "record"
	WORK = "work"
	STATE = "state"
	NOW = "now"
	WORLD = "world"
	WEB = "web"
	OWN = "own"
	FILE = "file"
	ATTACHED = "attached"
	TALK = "talk"
	YOU = "you"
	ME = "me"
	PLEASE = "please"
	THE = "the"
	A = "a"
	PRODUCT = "product"
	THEN = "then"
	IF = "if"
	NOT = "not"
	TOOL = "tool"
	FEELING = "feeling"
	LEARNED = "learned"
	ONE = "one"
	EASY = "easy"


def read_lexicon() -> dict[Concept, list[str]]:
	"""The words of each concept."""
	lexicon = json.loads(LEXICON_FILE.read_text(encoding="utf-8"))
	return {Concept(name): " ".join(lines).split() for name, lines in lexicon.items()}
