"""The router's texts for people in four languages; English for any other language."""

from collections.abc import Iterable

from huf.ai.routing.types import Need

LANGUAGES = ("en", "es", "de", "cs")

Texts = dict[str, tuple[str, str, str, str]]
TEXTS: Texts = {
	# Reasons
	"web": (
		"Needs a web search",
		"Requiere búsqueda web",
		"Braucht eine Websuche",
		"Vyžaduje hledání na webu",
	),
	"url": (
		"Needs a web page",
		"Requiere abrir una página web",
		"Braucht eine Webseite",
		"Vyžaduje webovou stránku",
	),
	"file": ("Asks for a file", "Pide un archivo", "Verlangt eine Datei", "Žádá soubor"),
	"code": ("Asks to run code", "Pide ejecutar código", "Verlangt, Code auszuführen", "Žádá spuštění kódu"),
	"attachment": ("Is about a file", "Trata de un archivo", "Handelt von einer Datei", "Týká se souboru"),
	"records": (
		"Needs data of this site",
		"Requiere datos de este sitio",
		"Braucht Daten dieser Site",
		"Vyžaduje data tohoto webu",
	),
	"change": ("Asks for a change", "Pide un cambio", "Verlangt eine Änderung", "Žádá změnu"),
	"send": ("Asks to send something", "Pide enviar algo", "Verlangt, etwas zu senden", "Žádá odeslání"),
	"explicit": ("Asks for the agent", "Pide usar el agente", "Verlangt den Agenten", "Žádá agenta"),
	"steps": ("Takes several steps", "Lleva varios pasos", "Braucht mehrere Schritte", "Vyžaduje více kroků"),
	"task": (
		"Looks like a task for tools",
		"Parece una tarea para herramientas",
		"Sieht nach Arbeit für Werkzeuge aus",
		"Vypadá jako úkol pro nástroje",
	),
	"talk": ("Small talk", "Conversación", "Plauderei", "Zdvořilost"),
	"definition": (
		"Asks what something is",
		"Pide una definición",
		"Fragt, was etwas ist",
		"Ptá se, co něco je",
	),
	"explanation": (
		"Asks for an explanation",
		"Pide una explicación",
		"Verlangt eine Erklärung",
		"Žádá vysvětlení",
	),
	"text": (
		"Works on a given text",
		"Trabaja sobre un texto dado",
		"Arbeitet an einem gegebenen Text",
		"Pracuje s daným textem",
	),
	"howto": (
		"Asks how something is done",
		"Pregunta cómo se hace algo",
		"Fragt, wie etwas geht",
		"Ptá se, jak se něco dělá",
	),
	"creative": ("Asks for a text", "Pide un texto", "Verlangt einen Text", "Žádá text"),
	"plain": (
		"Can be answered at once",
		"Se puede responder sin herramientas",
		"Lässt sich ohne Werkzeuge beantworten",
		"Dá se odpovědět bez nástrojů",
	),
	"unsure": (
		"Not sure enough for the agent",
		"Sin certeza suficiente para el agente",
		"Nicht sicher genug für den Agenten",
		"Málo jisté pro agenta",
	),
	"going_on": ("The task goes on", "La tarea continúa", "Die Aufgabe geht weiter", "Úkol pokračuje"),
	"model": ("So says the model", "Así lo dice el modelo", "So sagt es das Modell", "Říká to model"),
	# Escalation
	"needs_web": (
		"Needs a web search",
		"Necesita búsqueda web",
		"Braucht eine Websuche",
		"Potřebuje hledání na webu",
	),
	"no_access": (
		"Has no access to the data",
		"No tiene acceso a los datos",
		"Hat keinen Zugriff auf die Daten",
		"Nemá přístup k datům",
	),
	"not_current": (
		"Needs current information",
		"Necesita información actualizada",
		"Braucht aktuelle Informationen",
		"Potřebuje aktuální informace",
	),
	"promise": (
		"Promises to look instead of answering",
		"Promete mirarlo en vez de responder",
		"Verspricht nachzusehen, statt zu antworten",
		"Slibuje podívat se místo odpovědi",
	),
	"tool_call": (
		"Tries to call a tool",
		"Intenta usar una herramienta",
		"Versucht, ein Werkzeug aufzurufen",
		"Zkouší volat nástroj",
	),
	"gap": (
		"Leaves a gap for data",
		"Deja un hueco para datos",
		"Lässt eine Lücke für Daten",
		"Nechává místo pro data",
	),
	# Plan
	"plan_answer": (
		"Give the final answer",
		"Generar respuesta final",
		"Antwort geben",
		"Dát konečnou odpověď",
	),
	f"plan_{Need.WEB_SEARCH}": (
		"Search the web",
		"Buscar información en la web",
		"Im Web suchen",
		"Hledat na webu",
	),
	f"plan_{Need.OPEN_URL}": (
		"Open the page and read it",
		"Abrir la página y leerla",
		"Die Seite öffnen und lesen",
		"Otevřít stránku a přečíst ji",
	),
	f"plan_{Need.READ_FILE}": ("Read the file", "Leer el archivo", "Die Datei lesen", "Přečíst soubor"),
	f"plan_{Need.GENERATE_FILE}": (
		"Make the file",
		"Generar el archivo",
		"Die Datei erstellen",
		"Vytvořit soubor",
	),
	f"plan_{Need.EXECUTE_CODE}": ("Run the code", "Ejecutar el código", "Den Code ausführen", "Spustit kód"),
	f"plan_{Need.FIND_RECORDS}": (
		"Look up the records",
		"Consultar los registros",
		"Die Datensätze nachsehen",
		"Vyhledat záznamy",
	),
	f"plan_{Need.CHANGE_RECORDS}": (
		"Make the change",
		"Hacer el cambio",
		"Die Änderung machen",
		"Provést změnu",
	),
	f"plan_{Need.SEND_MESSAGE}": (
		"Send the message",
		"Enviar el mensaje",
		"Die Nachricht senden",
		"Odeslat zprávu",
	),
}


def get_text(key: str, language: str) -> str:
	"""The text of a key; any other text, such as a reason that a site wrote, is returned unchanged."""
	texts = TEXTS.get(key)
	if texts is None:
		return key
	return texts[LANGUAGES.index(language) if language in LANGUAGES else 0]


def suggest_plan(needs: Iterable[str], language: str) -> tuple[str, ...]:
	"""Suggested steps for tool needs, the last being the answer."""
	steps = [f"plan_{need}" for need in needs if f"plan_{need}" in TEXTS]
	return tuple(get_text(key, language) for key in (*steps, "plan_answer"))
