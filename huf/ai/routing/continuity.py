"""Keeps a conversation on its route in the middle of a task. Pure.

The rules, in this order:

- An explicit request for the agent goes to the agent.
- While a run of the conversation is waiting or working, every message belongs to its task: agent.
- A short follow-up ("yes, do that", "and in May?") of a message to the agent: agent. Thanks, greetings and
  goodbyes end a task, so they are not follow-ups.
- Everything else is decided anew.
"""

import re
from dataclasses import dataclass

from huf.ai.core.tokenizer import remove_accents
from huf.ai.routing.types import Route

MAX_FOLLOW_UP_WORDS = 6
"""A longer message is not recognized as a follow-up by how it begins."""

CONFIRMATION = re.compile(
	r"^\W*("
	r"yes|yep|yeah|no|ok(ay)?|sure|right|correct|exactly|please( do)?|do (it|that|so)|go (on|ahead)|"
	r"continue|confirm(ed)?|the (first|second|last) one|"
	r"si|claro|vale|de acuerdo|correcto|exacto|hazlo|adelante|sigue|continua|confirmo|el (primero|segundo|"
	r"ultimo)|"
	r"ja|nein|genau|richtig|gern(e)?|mach (das|es|weiter)|weiter|bestatige|bestatigt|(der|die|das) (erste|"
	r"zweite|letzte)|"
	r"ano|ne|jo|jasne|dobre|presne|spravne|udelej to|pokracuj|potvrzuji|potvrzuju|(ten|ta|to) (prvni|druhy|"
	r"druha|posledni)"
	r")\b",
	re.IGNORECASE,
)
CONTINUATION = re.compile(
	r"^\W*(and|what about|also|then|same|only|but|now|instead|"
	r"tambien|luego|entonces|lo mismo|solo|pero|ahora|mejor|"
	r"und|auch|dann|dasselbe|nur|aber|jetzt|lieber|"
	r"taky|pak|totez|jen|ale|ted|radsi)\b",
	re.IGNORECASE,
)
CONJUNCTION = {"es": re.compile(r"^\W*[ye]\b", re.IGNORECASE), "cs": re.compile(r"^\W*[ai]\b", re.IGNORECASE)}
"""Words of one letter that mean "and"; in English, A and I begin anything."""
END_OF_TASK = re.compile(
	r"\b(thanks?|thank you|thx|bye|goodbye|gracias|adios|danke|tschuss|diky|dekuji|dekuju|nashle|ahoj|hello|"
	r"hola|hallo)\b",
	re.IGNORECASE,
)


@dataclass(frozen=True)
class Previous:
	"""The last route of the conversation, and whether one of its runs is waiting or working."""

	route: Route
	is_running: bool = False


def continues_task(message: str, previous: Previous | None, language: str = "en") -> bool:
	"""Whether the message, in a language, belongs to the agent's previous task."""
	if previous is None or previous.route is not Route.AGENT:
		return False
	return previous.is_running or is_follow_up(message, language)


def is_follow_up(message: str, language: str) -> bool:
	text = remove_accents(message.strip())
	if len(text.split()) > MAX_FOLLOW_UP_WORDS or END_OF_TASK.search(text):
		return False
	conjunction = CONJUNCTION.get(language)
	return bool(
		CONFIRMATION.match(text) or CONTINUATION.match(text) or (conjunction and conjunction.match(text))
	)
