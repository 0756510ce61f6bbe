"""A conversation keeps its route in the middle of a task. Decides on what is handed in; reads nothing.

The rule, in this order:

1. Whoever asks for the agent by name gets it.
2. While a run of the conversation waits or works, everything said belongs to its task: agent.
3. Where the last route was the agent's and the message is a short follow-up ("yes, do that", "and in May?"): agent. Thanks,
   greetings and goodbyes end a task, so they are no follow-up.
4. Everything else is decided anew.
"""

import re
from dataclasses import dataclass

from huf.ai.routing.complexity import without_accents
from huf.ai.routing.types import Route

SHORT = 6
"""Words of a follow-up that is told by how it begins."""

CONFIRMS = re.compile(
	r"^\W*("
	r"yes|yep|yeah|no|ok(ay)?|sure|right|correct|exactly|please( do)?|do (it|that|so)|go (on|ahead)|continue|confirm(ed)?|the (first|second|last) one|"
	r"si|claro|vale|de acuerdo|correcto|exacto|hazlo|adelante|sigue|continua|confirmo|el (primero|segundo|ultimo)|"
	r"ja|nein|genau|richtig|gern(e)?|mach (das|es|weiter)|weiter|bestatige|bestatigt|(der|die|das) (erste|zweite|letzte)|"
	r"ano|ne|jo|jasne|dobre|presne|spravne|udelej to|pokracuj|potvrzuji|potvrzuju|(ten|ta|to) (prvni|druhy|druha|posledni)"
	r")\b",
	re.IGNORECASE,
)
GOES_ON = re.compile(
	r"^\W*(and|what about|also|then|same|only|but|now|instead|"
	r"y|e|tambien|luego|entonces|lo mismo|solo|pero|ahora|mejor|"
	r"und|auch|dann|dasselbe|nur|aber|jetzt|lieber|"
	r"a|i|taky|pak|totez|jen|ale|ted|radsi)\b",
	re.IGNORECASE,
)
ENDS = re.compile(
	r"\b(thanks?|thank you|thx|bye|goodbye|gracias|adios|danke|tschuss|diky|dekuji|dekuju|nashle|ahoj|hello|hola|hallo)\b",
	re.IGNORECASE,
)


@dataclass(frozen=True)
class Previous:
	"""What went on in the conversation: the last route taken, and whether a run of it waits or works."""

	route: Route
	at_work: bool = False


def stays(message: str, previous: Previous | None) -> bool:
	"""Whether the message belongs to the agent's task that went before."""
	if previous is None or previous.route is not Route.AGENT:
		return False
	return previous.at_work or is_follow_up(message)


def is_follow_up(message: str) -> bool:
	text = without_accents(message.strip())
	if len(text.split()) > SHORT or ENDS.search(text):
		return False
	return bool(CONFIRMS.match(text) or GOES_ON.match(text))
