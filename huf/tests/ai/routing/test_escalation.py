"""Answers that admit a need for tools or fresh data escalate, and those that only sound similar do not."""

import unittest

from huf.ai.routing.escalation import check_dynamic_escalation

ADMISSIONS = (
	("Necesito buscar información actualizada para responder.", "Necesita búsqueda web"),
	("Lo siento, no tengo acceso a tus facturas.", "No tiene acceso a los datos"),
	("Para eso se requiere información actualizada.", "Necesita información actualizada"),
	("Se necesita información actualizada sobre eso.", "Necesita información actualizada"),
	("Mis conocimientos llegan hasta 2023, así que no lo sé.", "Necesita información actualizada"),
	("Claro, déjame buscar eso.", "Promete mirarlo en vez de responder"),
	("No puedo consultar el precio en tiempo real.", "No tiene acceso a los datos"),
	("I don't have access to real-time data, sorry.", "Has no access to the data"),
	("I’m unable to browse the internet.", "Has no access to the data"),
	("I have no access to your calendar.", "Has no access to the data"),
	("I'm not able to look up live prices.", "Has no access to the data"),
	("I would need to search for that first.", "Needs a web search"),
	("As of my last update the rate was 4%.", "Needs current information"),
	("My last update was in June 2024.", "Needs current information"),
	("You may want to check xe.com for the latest rate.", "Needs current information"),
	("Sure! Let me look that up for you.", "Promises to look instead of answering"),
	("The price is [insert current price] per ounce.", "Leaves a gap for data"),
	('{"tool": "web_search", "arguments": {"query": "gold"}}', "Tries to call a tool"),
	("Ich habe leider keinen Zugriff auf Ihre Daten.", "Hat keinen Zugriff auf die Daten"),
	("Dafür müsste ich im Internet nachsehen, was es heute kostet.", "Braucht eine Websuche"),
	("Mein Wissen reicht nur bis 2023.", "Braucht aktuelle Informationen"),
	("Einen Moment, ich suche das für dich heraus.", "Verspricht nachzusehen, statt zu antworten"),
	("I can't send emails, but here is a draft.", "Looks like a task for tools"),
	("I'm unable to create or update calendar appointments.", "Looks like a task for tools"),
	("No puedo crear tareas ni recordatorios.", "Parece una tarea para herramientas"),
	("Leider kann ich keine E-Mails versenden.", "Sieht nach Arbeit für Werkzeuge aus"),
	("Ich bin nicht in der Lage, Aufgaben anzulegen.", "Sieht nach Arbeit für Werkzeuge aus"),
	("Ich kann Ihre Aufgaben nicht einsehen.", "Hat keinen Zugriff auf die Daten"),
	("Auf Ihren Kalender kann ich leider nicht zugreifen.", "Hat keinen Zugriff auf die Daten"),
	("I don't know what's on your calendar.", "Has no access to the data"),
	("There's no way for me to view your invoices.", "Has no access to the data"),
	("I have no way to check that.", "Has no access to the data"),
	("I do not have the capability to send emails.", "Looks like a task for tools"),
	("Mir liegen keine Daten zu Ihren Aufträgen vor.", "Hat keinen Zugriff auf die Daten"),
	("Dazu fehlen mir die Werkzeuge.", "Sieht nach Arbeit für Werkzeuge aus"),
	("Lo siento, no puedo acceder a tu calendario.", "No tiene acceso a los datos"),
	("No tengo la capacidad de enviar correos.", "Parece una tarea para herramientas"),
	("Bohužel nevidím vaše faktury.", "Nemá přístup k datům"),
	("Nemám možnost vytvářet úkoly.", "Vypadá jako úkol pro nástroje"),
	("Bohužel nemohu posílat e-maily.", "Vypadá jako úkol pro nástroje"),
	("K tomu nemám nástroje.", "Vypadá jako úkol pro nástroje"),
	("Bohužel nemám přístup k vašim záznamům.", "Nemá přístup k datům"),
	("Musím to vyhledat na internetu.", "Potřebuje hledání na webu"),
	("Moje znalosti končí rokem 2023, takže to nevím.", "Potřebuje aktuální informace"),
	("Podívám se, co se s tou objednávkou děje.", "Slibuje podívat se místo odpovědi"),
)

COMPLETE_ANSWERS = (
	"Una nota de crédito reduce el importe de una factura anterior.",
	"Información actualizada\nEl precio es de 5 euros desde enero.",
	"Si no tienes acceso a la cuenta, pide la contraseña al administrador.",
	"Para buscar duplicados en Excel, usa el formato condicional.",
	"Si no tengo acceso a un archivo, suele ser por los permisos; así lo diría un usuario.",
	"A credit note lowers the amount of an earlier invoice.",
	"If I don't have access to a file, I ask its owner: so goes the rule in most firms.",
	"You don't have access to the report until a manager gives you the role.",
	'The error "I cannot access the internet" means that the proxy is wrong.',
	"Common complaints:\n- I cannot access my account\n* I can't send emails",
	"Häufige Beschwerden:\n1. Ich kann keine E-Mails verschicken\n2) Ich habe keinen Zugriff auf meine Daten",
	"I can't wait to see your files!",
	"I don't know a simpler way to do that in Excel.",
	"I can't find any problem with your invoice template.",
	"No puedo darte asesoría legal sobre tu contrato.",
	"I don't know the law there, but your invoices must name the tax rate.",
	"I can't recommend FIFO for perishable goods.",
	"I have no doubt that a manager has access to it.",
	"I can't recommend sending reminders every day.",
	"You cannot send emails larger than 25 MB.",
	"Ich kann nicht empfehlen, Rechnungen ohne Datum zu versenden, wenn Fristen laufen.",
	"Man kann versendete E-Mails nicht zurückholen.",
	"No puedo recomendar enviar correos masivos.",
	"Nemohu posoudit, co je lepší.",
	"I can't see any mistakes in your notes.",
	"I can't change the meaning of your message without more context.",
	"No puedo ver errores en tus notas.",
	"Ich kann deine Frage ohne Beispiel nicht lesen.",
	"Ich kann keine Aufgabe erkennen, die man anlegen müsste.",
	"Nemohu změnit znění zprávy.",
	"Say 'I can't send emails today' politely.",
	"A reply:\n\n> I can't add meetings this week.",
	"Dear Anna,\n\nI cannot send messages before Friday.",
	"Sehr geehrte Frau Müller,\n\nleider kann ich Ihnen keine Rechnung ohne Steuernummer erstellen.",
	"Vážený pane Nováku,\n\nbohužel nemohu poslat fakturu dnes.",
	"Current assets are what a firm can turn into money within a year.",
	"See [the manual](https://example.com) for the steps.",
	"Eine Gutschrift verringert den Betrag einer früheren Rechnung.",
	"Wenn ich keinen Zugriff auf eine Datei habe, liegt das meist an den Rechten.",
	"Ich kann nicht empfehlen, Passwörter in Tabellen abzulegen.",
	"Dobropis snižuje částku dřívější faktury.",
	"Pokud nemám přístup k souboru, požádám jeho vlastníka; tak zní pravidlo.",
	"Zákazník nemá přístup k portálu, dokud ho správce nepozve.",
	"",
)


class TestEscalation(unittest.TestCase):
	def test_answer_consisting_only_of_informacion_actualizada_escalates(self):
		for response in ("Información actualizada", "Información actualizada..."):
			expected = {"shouldEscalate": True, "reason": "Necesita información actualizada"}
			self.assertEqual(check_dynamic_escalation(response).as_dict(), expected)

	def test_answer_admitting_missing_data_or_tools_escalates_with_the_reason(self):
		for response, reason in ADMISSIONS:
			with self.subTest(response):
				expected = {"shouldEscalate": True, "reason": reason}
				self.assertEqual(check_dynamic_escalation(response).as_dict(), expected)

	def test_complete_answers_do_not_escalate(self):
		for response in COMPLETE_ANSWERS:
			with self.subTest(response):
				self.assertEqual(check_dynamic_escalation(response).as_dict(), {"shouldEscalate": False})

	def test_long_answer_that_begins_with_a_promise_does_not_escalate(self):
		answer = "Let me find the right words. " + "A ledger is a book of accounts. " * 10
		self.assertFalse(check_dynamic_escalation(answer).should_escalate)
