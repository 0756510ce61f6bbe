"""Routing patterns match the messages they should, and contradictions between them are resolved."""

import unittest

from huf.ai.routing.heuristics import find_match, select_strongest
from huf.ai.routing.patterns import Pattern, read_builtin_patterns
from huf.ai.routing.router import decide_route
from huf.ai.routing.types import Route

AGENT_MESSAGES = (
	("Busca en la web el horario del museo", "web_search"),
	("Search the web for pallet prices", "web_search"),
	("Such im Internet nach Fördermitteln", "web_search"),
	("vyhledej na internetu cenu palet", "web_search"),
	("Noticias sobre el puerto", "web_search"),
	("Navega a https://example.com/precios", "open_url"),
	("Go to example.com and read it", "open_url"),
	("Geh auf beispiel.at und lies", "open_url"),
	("Přejdi na priklad.cz a čti", "open_url"),
	("Genera un documento Excel con las ventas", "generate_file"),
	("Create a PDF of the offer", "generate_file"),
	("Erstelle eine Excel-Liste der Kunden", "generate_file"),
	("Vytvoř PDF z objednávky", "generate_file"),
	("Ejecuta este código: print(1)", "execute_code"),
	("Run this script", "execute_code"),
	("Por favor, ejecuta este código", "execute_code"),
	("Please run this code: print(1)", "execute_code"),
	("Bitte führe diesen Code aus", "execute_code"),
	("Prosím spusť tento kód", "execute_code"),
	("Genérame un Excel de ventas", "generate_file"),
	("Usa el modo agente", "explicit_agent"),
	("Führ das aus: print(1)", "execute_code"),
	("Spusť skript na úklid", "execute_code"),
	("¿Qué dice el contrato adjunto?", "read_file"),
	("Summarise the attached letter", "read_file"),
	("Fass das angehängte Dokument zusammen", "read_file"),
	("co stojí v přiložené smlouvě", "read_file"),
	("where is SINV-2024-00017", "find_records"),
	("Wie viele offene Aufgaben habe ich?", "find_records"),
	*(
		(message, "change_records")
		for message in (
			"Nueva tarea: comprar leche",
			"Crea una nota sobre la reunión",
			"Marca la tarea como terminada",
			"Recuerda que me gusta el té",
			"New task: buy milk",
			"Remember that I like tea",
			"Remember that my birthday is 5 May. What should I ask for?",
			"Neue Aufgabe: Milch kaufen",
			"Lege eine Aufgabe an: Anna anrufen",
			"Aufgabe anlegen: Angebot schreiben",
			"Merke dir, dass ich Tee mag",
			"Nový úkol: koupit mléko",
			"Založ úkol: zavolat Anně",
			"Označ úkol jako hotový",
			"zapamatuj si, že mám rád čaj",
			"Create a todo",
			"Please add a task: call Anna",
			"Create a sales invoice for Brightwater",
			"Crea un todo",
			"Crear una nota",
			"Erstelle ein ToDo",
			"Leg eine neue Aufgabe an",
			"Erstelle einen Termin für morgen",
			"Vytvoř todo",
			"Vytvoř úkol na zítra",
		)
	),
	("Envíale un correo a Ana", "send_message"),
	("Mándale un mensaje a Ana", "send_message"),
	("Send an e-mail to Pedro", "send_message"),
	("Sende eine E-Mail an Pedro", "send_message"),
	("Mail an Herrn Müller: Termin verschoben", "send_message"),
	("Pošli mail Petrovi", "send_message"),
	("Usa el agente para esto", "explicit_agent"),
	("Use the agent for this", "explicit_agent"),
	("Nutze den Agenten dafür", "explicit_agent"),
	("Použij agenta", "explicit_agent"),
	("Why not use the agent for this?", "explicit_agent"),
	("¿Por qué no usa el agente?", "explicit_agent"),
)
CHAT_MESSAGES = (
	*(
		"Remember that scene in Casablanca?",
		"Erinnerst du dich an die Szene in Casablanca?",
		"¿Te acuerdas de la escena final de Casablanca?",
		"Pamatuješ si tu scénu z Casablancy?",
		"¿Qué es el IVA?",
		"Explica la partida doble",
		"Resume: la reunión fue larga",
		"Hola",
		"¡Adiós!",
		"Muchas gracias",
	),
	*(
		"What is a ledger?",
		"Explain double entry",
		"Rewrite: we are closed today",
		"Good morning",
		"bye",
		"Thanks a lot!",
	),
	*(
		"Was ist ein Skonto?",
		"Erkläre doppelte Buchführung",
		"Kürze: Das ist sehr lang",
		"Guten Tag",
		"Tschüss",
	),
	*(
		"Co je to dobropis?",
		"Vysvětli podvojné účetnictví",
		"Zkrať: to je dlouhé",
		"Dobrý den",
		"Nashle",
		"díky moc",
	),
	*(
		"How do I search the web with Python?",
		"¿Cómo se exporta a Excel?",
		"tell me a joke",
		"Don't use the agent for this",
		"Responde sin usar el agente",
		"Nutze den Agenten nicht",
		"nepoužívej agenta",
		"napiš básničku",
	),
)


class TestPatterns(unittest.TestCase):
	def test_messages_that_need_a_tool_are_routed_to_the_agent_with_that_need(self):
		for message, need in AGENT_MESSAGES:
			with self.subTest(message):
				row = find_match(message).strongest
				self.assertEqual((row.route, row.need), (Route.AGENT, need))
				self.assertGreaterEqual(row.confidence, 0.85)

	def test_messages_that_need_no_tool_are_routed_to_the_chat(self):
		for message in CHAT_MESSAGES:
			with self.subTest(message):
				self.assertEqual(find_match(message).strongest.route, Route.CHAT)

	def test_making_a_text_or_program_about_records_is_no_change_of_records(self):
		for message in (
			"Create a todo app in React",
			"Create a note-taking app",
			"Create an invoice template in HTML",
			"Create a customer persona",
			"Erstelle eine Aufgabenliste in React",
			"Erstelle ein Angebotsschreiben",
			"Crea una factura modelo",
			"Vytvoř fakturační šablonu",
		):
			with self.subTest(message):
				self.assertIsNone(find_match(message))

	def test_explicit_request_for_the_agent_is_routed_with_confidence_one(self):
		decision = decide_route("Usa el agente y explica el IVA")
		self.assertEqual((decision.route, decision.confidence), (Route.AGENT, 1.0))

	def test_reason_is_in_the_language_of_a_matching_pattern(self):
		for message in ("Navega a https://example.com", "Ve a https://example.com"):
			self.assertEqual(decide_route(message).reasons, ("Requiere abrir una página web",))

	def test_explain_requests_about_own_records_are_not_routed_to_the_chat(self):
		for message in (
			"Explica nuestras ventas de hoy",
			"Explain invoice SINV-00012",
			"Erkläre unsere Zahlen",
		):
			with self.subTest(message):
				match = find_match(message)
				self.assertTrue(match is None or match.strongest.route is Route.AGENT)

	def test_every_detected_tool_need_is_listed_once(self):
		decision = decide_route("Busca en la web los precios de hoy en https://example.com y genera un Excel")
		self.assertEqual(decision.tool_needs, ("web_search", "open_url", "generate_file"))

	def test_equally_strong_contradicting_patterns_select_nothing(self):
		rows = [Pattern("", "x", route, "", 0.9, "r") for route in Route]
		self.assertIsNone(select_strongest(rows))

	def test_pattern_of_the_site_that_searches_too_long_does_not_match_and_the_others_decide(self):
		slow, quick = (Pattern("", each, Route.AGENT, "", 0.9, "r") for each in ("^(a|aa)+$", "a!"))
		self.assertEqual(find_match("a" * 60 + "!", (slow, quick)).rows, (quick,))

	def test_patterns_of_eight_reasons_cover_four_languages(self):
		for reason in ("web", "file", "code", "attachment", "explicit", "talk", "definition", "howto"):
			languages = {row.language for row in read_builtin_patterns() if row.reason == reason} - {""}
			self.assertEqual(languages, {"en", "es", "de", "cs"}, reason)
