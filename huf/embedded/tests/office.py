"""A running Huf with the pack of a law office, one of its lawyers, and a model scripted as Helena."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from huf.embedded.tests.pages import PASSWORD, start_server
from huf.embedded.tests.server_test import Server
from huf.embedded.tests.showcase import Rest
from huf.tests.model_answers import call, text, tool_calls
from huf.tests.model_server import ModelServer

LAWYER, CASE, MODEL = "katharina.brandt@example.com", "2026-014", "qwen3.5:35b"
PROMPTS = (
	f"Worum geht es in der Akte {CASE}, und was gilt bei Schimmel?",
	"Schlag eine Frist zur Nachbesserung bis 18.12.2026 vor.",
)
ANSWER_TIMEOUT_MS = 60_000
"""For the first answer of a model, including the import of LiteLLM."""
ANSWER = """In der Akte **2026-014** (Sommer ./. Elbkontor Hausverwaltung GmbH) hat sich seit August 2026 in zwei Zimmern Schimmel \
gebildet; die Mängelanzeige ist vom 14.08.2026.

- Ist die Wohnung mangelhaft, ist die Miete kraft Gesetzes gemindert (§ 536 BGB). Den Mangel muss Frau Sommer unverzüglich \
angezeigt haben (§ 536c BGB), und das hat sie.
- Aufpassen müssen wir bei der Ursache: Wärmebrücken allein sind kein Mangel, wenn das Haus den Normen seiner Bauzeit \
entspricht (BGH, Urteil vom 05.12.2018 – VIII ZR 271/17).

Soll ich ein Gutachten zur Ursache vorschlagen?"""
DEADLINE = {
	"akte": CASE,
	"bezeichnung": "Nachbesserung durch die Hausverwaltung",
	"faellig_am": "2026-12-18",
	"vorfrist_am": "2026-12-11",
	"rechtsgrundlage": "§ 536c BGB",
}
SCRIPT = (
	tool_calls(
		[
			call("read_akte", {"akte": CASE}),
			call("search_gesetze", {"query": "Mietmangel Schimmel Mängelanzeige", "gesetz": "BGB"}),
			call("search_urteile", {"query": "Schimmel Wärmebrücken"}),
		]
	),
	text(ANSWER),
	tool_calls([call("create_draft_frist", DEADLINE)]),
	text("Die Frist zum 18.12.2026 steht in der Akte 2026-014."),
)


@dataclass(frozen=True)
class Office:
	"""`rest` is the session of the lawyer, `admin` that of Administrator."""

	server: Server
	rest: Rest
	admin: Rest
	model: ModelServer


@contextmanager
def open_office() -> Iterator[Office]:
	home = Path(tempfile.mkdtemp(prefix="huf-test-"))
	try:
		with start_server(home) as server, ModelServer(strict=False) as model:
			admin = Rest(server)
			fill(admin, model)
			yield Office(server, Rest(server, user=LAWYER), admin, model)
	finally:
		shutil.rmtree(home, ignore_errors=True)


def fill(rest: Rest, model: ModelServer) -> None:
	rest.call("/api/method/huf.api.pack.install", {"name": "helena"})
	name = {"email": LAWYER, "first_name": "Katharina", "last_name": "Brandt", "language": "de"}
	roles = [{"role": role} for role in ("Huf User", "ANWALT")]
	rest.make("User", **name, new_password=PASSWORD, send_welcome_email=0, roles=roles)
	rest.change("Helena Akte", CASE, anwalt=LAWYER)
	rest.make("AI Provider", provide_name="Modelle im Haus", api_key="sk-test", api_base=model.base_url)
	prices = {"own_prices": 1, "input_price": 0.1, "output_price": 0.3}
	rest.make("AI Model", model_name=MODEL, provider="Modelle im Haus", **prices)
	rest.change("Huf Settings", "Huf Settings", default_model=MODEL)
