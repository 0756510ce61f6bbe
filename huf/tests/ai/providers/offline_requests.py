"""Requests by language, each with the one call of the offline provider; today is Wednesday, 2026-03-04.

They include the sentences of README, docs/newcomer.md, the demo agent's starters and the page tests.
"""

COUNT = {"fields": ["name"], "limit": 500}
LIST = {"limit": 20}
OPEN = {"filters": {"status": "Open"}}
USERS = ("list_users", COUNT)
OPEN_TODOS = ("list_todos", {**OPEN, **LIST})
CLOSED = {"name": "a1b2", "values": {"status": "Closed"}}


def todo(description: str, **values: str) -> tuple[str, dict]:
	return "create_todo", {"description": description, **values}


REQUESTS = {
	"en": {
		"How many users are there?": USERS,
		"Could you please tell me how many users we have?": USERS,
		"Hello! How many users are there?": USERS,
		"How many open todos do I have?": ("list_todos", {**OPEN, **COUNT}),
		"List my open todos": OPEN_TODOS,
		"open todos": OPEN_TODOS,
		"Are there any open todos?": OPEN_TODOS,
		"Show closed todos with high priority": (
			"list_todos",
			{"filters": {"status": "Closed", "priority": "High"}, **LIST},
		),
		"List the todos": ("list_todos", LIST),
		"Show the last 5 todos": ("list_todos", {"order_by": "creation desc", "limit": 5}),
		"Show the most recent 3 todos": ("list_todos", {"order_by": "creation desc", "limit": 3}),
		"todos due tomorrow": ("list_todos", {"filters": {"date": "2026-03-05"}, **LIST}),
		"find todos about milk": ("list_todos", {"filters": {"description": ["like", "%milk%"]}, **LIST}),
		"Show todo a1b2": ("get_todo", {"name": "a1b2"}),
		"Create a todo to call Anna": todo("call Anna"),
		"Create a todo to call Anna tomorrow": todo("call Anna", date="2026-03-05"),
		"Todo: buy milk": todo("buy milk"),
		"Add a todo: buy milk, high priority": todo("buy milk", priority="High"),
		"Add a high priority todo: write the report": todo("write the report", priority="High"),
		"Add a task to prepare slides, due Friday": todo("prepare slides", date="2026-03-06"),
		"Create a todo to pay the rent by 2026-04-01": todo("pay the rent", date="2026-04-01"),
		"Remind me to close the todo list on Friday": todo("close the todo list", date="2026-03-06"),
		"Add buy milk to my todo list": todo("buy milk"),
		'Please add "call mum" to my todos': todo("call mum"),
		"Create a todo with description Buy bread and priority low": todo("Buy bread", priority="Low"),
		"Create a todo to buy milk and bread": todo("buy milk and bread"),
		"Create a todo to call Anna and delete todo abc": todo("call Anna and delete todo abc"),
		"Create a note titled War and Peace with content hello": (
			"create_note",
			{"title": "War and Peace", "content": "hello"},
		),
		"Create a public note called Plans": ("create_note", {"title": "Plans", "public": 1}),
		"Create a customer named Acme Corp of type Company": (
			"create_customer",
			{"customer_name": "Acme Corp", "customer_type": "Company"},
		),
		"Mark todo a1b2 as closed": ("update_todo", CLOSED),
		"Close todo a1b2": ("update_todo", CLOSED),
		"Cancel todo a1b2": ("update_todo", {"name": "a1b2", "values": {"status": "Cancelled"}}),
		"Set the priority of todo a1b2 to high": (
			"update_todo",
			{"name": "a1b2", "values": {"priority": "High"}},
		),
		"Change the description of todo a1b2 to Go to town": (
			"update_todo",
			{"name": "a1b2", "values": {"description": "Go to town"}},
		),
		"Move todo a1b2 to tomorrow": ("update_todo", {"name": "a1b2", "values": {"date": "2026-03-05"}}),
		"Assign todo a1b2 to bob@example.com": (
			"update_todo",
			{"name": "a1b2", "values": {"allocated_to": "bob@example.com"}},
		),
		"Delete todo abc": ("delete_todo", {"name": "abc"}),
		"Can you delete the todo a1b2, please?": ("delete_todo", {"name": "a1b2"}),
		"What is the weather in Prague?": ("get_weather", {"city": "Prague"}),
		"Sales report": ("sales_report_tool", {}),
		"Show me the sales report of AMER for 2023": ("sales_report_tool", {"region": "AMER", "year": 2023}),
	},
	"de": {
		"Wie viele Benutzer gibt es?": USERS,
		"Zeige meine offenen Aufgaben": OPEN_TODOS,
		"Zeige die letzten 5 Aufgaben": ("list_todos", {"order_by": "creation desc", "limit": 5}),
		"Erstelle eine Aufgabe: Anna anrufen": todo("Anna anrufen"),
		"Füge eine Aufgabe hinzu: Milch kaufen morgen": todo("Milch kaufen", date="2026-03-05"),
		"Kannst du eine Aufgabe erstellen, um Anna anzurufen?": todo("Anna anzurufen"),
		"Erinnere mich daran, am 1.4.2026 die Miete zu zahlen": todo(
			"die Miete zu zahlen", date="2026-04-01"
		),
		"Erstelle eine Notiz mit dem Titel Ideen und dem Inhalt hallo": (
			"create_note",
			{"title": "Ideen", "content": "hallo"},
		),
		"Markiere Aufgabe a1b2 als erledigt": ("update_todo", CLOSED),
		"Bitte schließe die Aufgabe a1b2": ("update_todo", CLOSED),
		"Setze die Priorität von Aufgabe a1b2 auf hoch": (
			"update_todo",
			{"name": "a1b2", "values": {"priority": "High"}},
		),
		"Lösche Aufgabe a1b2": ("delete_todo", {"name": "a1b2"}),
	},
	"es": {
		"¿Cuántos usuarios hay?": USERS,
		"Muestra mis tareas abiertas": OPEN_TODOS,
		"Crea una tarea para llamar a Ana": todo("llamar a Ana"),
		"Recuérdame llamar a Ana mañana": todo("llamar a Ana", date="2026-03-05"),
		"Crea una nota con el título Ideas y el contenido hola": (
			"create_note",
			{"title": "Ideas", "content": "hola"},
		),
		"Marca la tarea a1b2 como cerrada": ("update_todo", CLOSED),
		"Cambia la prioridad de la tarea a1b2 a alta": (
			"update_todo",
			{"name": "a1b2", "values": {"priority": "High"}},
		),
		"Borra la tarea a1b2": ("delete_todo", {"name": "a1b2"}),
	},
	"cs": {
		"Kolik je uživatelů?": USERS,
		"Ukaž otevřené úkoly": OPEN_TODOS,
		"Vytvoř úkol zavolat Anně": todo("zavolat Anně"),
		"Připomeň mi zavolat Anně zítra": todo("zavolat Anně", date="2026-03-05"),
		"Vytvoř poznámku s názvem Nápady a obsahem ahoj": (
			"create_note",
			{"title": "Nápady", "content": "ahoj"},
		),
		"Označ úkol a1b2 jako hotový": ("update_todo", CLOSED),
		"Nastav prioritu úkolu a1b2 na vysokou": (
			"update_todo",
			{"name": "a1b2", "values": {"priority": "High"}},
		),
		"Smaž úkol a1b2": ("delete_todo", {"name": "a1b2"}),
	},
}

NOT_INSTRUCTIONS = (
	"Delete all todos",
	"Delete todo everything",
	"Delete the todo to call Anna",
	"Delete todo a1 and b2",
	"Delete the email about todo abc",
	"Create an issue about todo abc",
	"Mark the todo to call Anna as done",
	"delete it",
	"Don't delete todo abc",
	"How do I delete a todo?",
	"Should I delete todo abc?",
	"Can I delete todo abc?",
	"Bob told everybody to delete todo abc",
	"My task is to delete todo abc",
	"I have a new task for the team",
	"Lösche die Aufgabe a1b2 nicht",
	"No elimina la tarea a1b2",
	"Neměl bych smazat úkol a1b2?",
	"What is the capital of France?",
	"Write a poem",
	"Delete user anna@example.com",
	"Submit sales invoice ACC-SINV-2024-00001",
	"please refund order SO-17",
	"anna@example.com saved the ToDo a1b2 (event on_update).\n\nDo what your instructions ask of you in this case. Read "
	"the document first.",
	"anna@example.com changed the ToDo a1b2 (event on_change).\n\nChanged fields:\n- status: Open → Closed\n\nDo what your "
	"instructions ask of you in this case.",
)
"""Requests without a call: prohibitions, questions, reports, unclear or unsupported requests."""
