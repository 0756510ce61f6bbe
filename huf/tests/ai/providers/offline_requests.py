"""Requests, and the one call that the offline planner makes of each. Only data."""

COUNT = {"limit": 500, "fields": ["name"]}
LIST = {"limit": 20}

REQUESTS = {
	"How many users are there?": ("list_users", COUNT),
	"Could you please tell me how many users we have?": ("list_users", COUNT),
	"Hello! How many users are there?": ("list_users", COUNT),
	"how many open todos do I have?": ("list_todos", {"filters": {"status": "Open"}, **COUNT}),
	"List my open todos": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"open todos": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"are there any open todos?": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"todos that are not closed": ("list_todos", {"filters": {"status": ["!=", "Closed"]}, **LIST}),
	"Show closed todos with high priority": (
		"list_todos",
		{"filters": {"status": "Closed", "priority": "High"}, **LIST},
	),
	"Show me my urgent todos": ("list_todos", {"filters": {"priority": "High"}, **LIST}),
	"Show the last 5 todos": ("list_todos", {"limit": 5, "order_by": "creation desc"}),
	"list the first 3 users": ("list_users", {"limit": 3, "order_by": "creation asc"}),
	"which users are disabled?": ("list_users", {"filters": {"enabled": 0}, **LIST}),
	"todos due tomorrow": ("list_todos", {"filters": {"date": "2026-03-05"}, **LIST}),
	"find todos about milk": ("list_todos", {"filters": {"description": ["like", "%milk%"]}, **LIST}),
	"Show todo a1b2c3": ("get_todo", {"name": "a1b2c3"}),
	"What is the email of user Administrator?": (
		"get_user_value",
		{"name": "Administrator", "fieldname": "email"},
	),
	"Create a todo to call Anna": ("create_todo", {"description": "Call Anna"}),
	"create todo call anna": ("create_todo", {"description": "call anna"}),
	"Add a todo: buy milk tomorrow": ("create_todo", {"description": "buy milk", "date": "2026-03-05"}),
	"Todo: buy milk": ("create_todo", {"description": "buy milk"}),
	"Add buy milk to my todo list": ("create_todo", {"description": "buy milk"}),
	'Please add "call mum" to my todos': ("create_todo", {"description": "call mum"}),
	"Add a task to prepare slides, due Friday": (
		"create_todo",
		{"description": "Prepare slides", "date": "2026-03-06"},
	),
	"Create a todo to call Anna in 3 days": (
		"create_todo",
		{"description": "Call Anna", "date": "2026-03-07"},
	),
	"Create a todo to pay the rent by 2026-04-01": (
		"create_todo",
		{"description": "Pay the rent", "date": "2026-04-01"},
	),
	"Remind me to close the todo list on Friday": (
		"create_todo",
		{"description": "Close the todo list", "date": "2026-03-06"},
	),
	"Add a high priority todo: write the report": (
		"create_todo",
		{"description": "write the report", "priority": "High"},
	),
	"Add a todo: buy milk, high priority": ("create_todo", {"description": "buy milk", "priority": "High"}),
	"Create a todo with description Buy bread and priority low": (
		"create_todo",
		{"description": "Buy bread", "priority": "Low"},
	),
	"Create a todo assigned to bob@example.com: fix the roof": (
		"create_todo",
		{"description": "fix the roof", "allocated_to": "bob@example.com"},
	),
	"Create a todo to buy milk and bread": ("create_todo", {"description": "Buy milk and bread"}),
	"Create a todo to call Anna and delete todo abc": (
		"create_todo",
		{"description": "Call Anna and delete todo abc"},
	),
	'Create a todo to "review and delete old files"': (
		"create_todo",
		{"description": "review and delete old files"},
	),
	"Create a note titled Ideas with content hello": ("create_note", {"title": "Ideas", "content": "hello"}),
	"Create a public note called Plans": ("create_note", {"title": "Plans", "public": 1}),
	"Mark todo a1b2c3 as closed": ("update_todo", {"name": "a1b2c3", "values": {"status": "Closed"}}),
	"Close todo a1b2c3": ("update_todo", {"name": "a1b2c3", "values": {"status": "Closed"}}),
	"close a1b2c3": ("update_todo", {"name": "a1b2c3", "values": {"status": "Closed"}}),
	"Cancel todo a1b2c3": ("update_todo", {"name": "a1b2c3", "values": {"status": "Cancelled"}}),
	"Set the priority of todo a1b2c3 to high": (
		"update_todo",
		{"name": "a1b2c3", "values": {"priority": "High"}},
	),
	"Change the description of todo a1b2c3 to Go to town": (
		"update_todo",
		{"name": "a1b2c3", "values": {"description": "Go to town"}},
	),
	"Move todo a1b2c3 to tomorrow": ("update_todo", {"name": "a1b2c3", "values": {"date": "2026-03-05"}}),
	"Assign todo a1b2c3 to bob@example.com": (
		"update_todo",
		{"name": "a1b2c3", "values": {"allocated_to": "bob@example.com"}},
	),
	"Delete todo abc": ("delete_todo", {"name": "abc"}),
	"Can you delete the todo a1b2c3, please?": ("delete_todo", {"name": "a1b2c3"}),
	"What is the weather in Prague?": ("get_weather", {"city": "Prague"}),
	"Send an email to anna@example.com with subject Hello and body How are you": (
		"send_email",
		{"to": "anna@example.com", "subject": "Hello", "body": "How are you"},
	),
}

IN_OTHER_LANGUAGES = {
	"Wie viele Benutzer gibt es?": ("list_users", COUNT),
	"Welche Benutzer sind deaktiviert?": ("list_users", {"filters": {"enabled": 0}, **LIST}),
	"Zeige meine offenen Aufgaben": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"Zeige die letzten 5 Aufgaben": ("list_todos", {"limit": 5, "order_by": "creation desc"}),
	"Erstelle eine Aufgabe: Anna anrufen": ("create_todo", {"description": "Anna anrufen"}),
	"Füge eine Aufgabe hinzu: Milch kaufen morgen": (
		"create_todo",
		{"description": "Milch kaufen", "date": "2026-03-05"},
	),
	"Kannst du eine Aufgabe erstellen, um Anna anzurufen?": (
		"create_todo",
		{"description": "Anna anzurufen"},
	),
	"Erstelle eine Notiz mit dem Titel Ideen und dem Inhalt hallo": (
		"create_note",
		{"title": "Ideen", "content": "hallo"},
	),
	"Markiere Aufgabe a1b2 als erledigt": ("update_todo", {"name": "a1b2", "values": {"status": "Closed"}}),
	"Lösche Aufgabe a1b2": ("delete_todo", {"name": "a1b2"}),
	"¿Cuántos usuarios hay?": ("list_users", COUNT),
	"¿Qué usuarios están desactivados?": ("list_users", {"filters": {"enabled": 0}, **LIST}),
	"Muestra mis tareas abiertas": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"Crea una tarea para llamar a Ana": ("create_todo", {"description": "Llamar a Ana"}),
	"Recuérdame llamar a Ana mañana": (
		"create_todo",
		{"description": "llamar a Ana", "date": "2026-03-05"},
	),
	"Marca la tarea a1b2 como cerrada": ("update_todo", {"name": "a1b2", "values": {"status": "Closed"}}),
	"Borra la tarea a1b2": ("delete_todo", {"name": "a1b2"}),
	"Kolik je uživatelů?": ("list_users", COUNT),
	"Kteří uživatelé jsou neaktivní?": ("list_users", {"filters": {"enabled": 0}, **LIST}),
	"Ukaž otevřené úkoly": ("list_todos", {"filters": {"status": "Open"}, **LIST}),
	"Vytvoř úkol zavolat Anně": ("create_todo", {"description": "zavolat Anně"}),
	"Připomeň mi zavolat Anně zítra": (
		"create_todo",
		{"description": "zavolat Anně", "date": "2026-03-05"},
	),
	"Vytvoř poznámku s názvem Nápady a obsahem ahoj": (
		"create_note",
		{"title": "Nápady", "content": "ahoj"},
	),
	"Označ úkol a1b2 jako hotový": ("update_todo", {"name": "a1b2", "values": {"status": "Closed"}}),
	"Smaž úkol a1b2": ("delete_todo", {"name": "a1b2"}),
}

OF_OTHER_KINDS = {
	"list sales invoices": ("list_sales_invoices", LIST),
	"Cancel sales invoice ACC-SINV-2024-00001": ("cancel_sales_invoice", {"name": "ACC-SINV-2024-00001"}),
	"Submit sales invoice ACC-SINV-2024-00001": ("submit_sales_invoice", {"name": "ACC-SINV-2024-00001"}),
	"Create a customer named Acme Corp of type Company": (
		"create_customer",
		{"customer_name": "Acme Corp", "customer_type": "Company"},
	),
	"Add customer Acme, customer type company, email a@example.com": (
		"create_customer",
		{"customer_name": "Acme", "customer_type": "Company", "email_id": "a@example.com"},
	),
	'delete notes "A b" and "C"': ("delete_notes", {"names": ["A b", "C"]}),
	"Close todo a1b2": ("set_todo_field", {"name": "a1b2", "fieldname": "status", "value": "Closed"}),
	"Run the sales report": ("sales_report", {}),
	"Ask the researcher about frogs": ("ask_researcher", {"prompt": "frogs"}),
	"please refund order SO-17": ("refund_order", {"order": "SO-17"}),
	"how many leads do we have?": ("count_leads", {}),
	"transcribe /files/a.wav": ("transcribe", {"file_url": "/files/a.wav"}),
}

LEFT_ALONE = (
	"Delete all todos",
	"Delete todos",
	"Delete todo everything",
	"delete it",
	"Don't delete todo abc",
	"How do I delete a todo?",
	"Should I delete todo abc?",
	"Can I delete todo abc?",
	"Bob told everybody to delete todo abc",
	"Lösche die Aufgabe a1b2 nicht",
	"No elimina la tarea a1b2",
	"What is the capital of France?",
	"Write a poem",
	"Disable user anna@example.com",
	"Send an email to anna@example.com",
)
