"""What is known of DocTypes without asking the site: what people call them, and Frappe's own. Only data.

A tool's own schema says more, and is believed first. For the form of the rows see `words`.
"""

NOUNS = {
	"todo": ("todo to-do to-dos task reminder", "aufgabe*", "tarea* pendientes", "ukol*"),
	"user": ("user", "benutzer* nutzer* anwender*", "usuari*", "uzivatel*"),
	"note": ("note", "notiz*", "nota notas", "poznamk*"),
	"customer": ("customer client", "kunde*", "cliente*", "zakazni*"),
	"supplier": ("supplier vendor", "lieferant*", "proveedor*", "dodavatel*"),
	"invoice": ("invoice", "rechnung*", "factura*", "faktur*"),
	"order": ("order", "auftrag* bestellung*", "pedido*", "objednavk*"),
	"item": ("item product", "artikel* produkt*", "articulo* producto*", "polozk* zbozi"),
	"contact": ("contact", "kontakt*", "contacto*", "kontakt*"),
	"lead": ("lead", "interessent*", "", "zajemc*"),
	"project": ("project", "projekt*", "proyecto*", "projekt*"),
	"employee": ("employee", "mitarbeiter*", "empleado*", "zamestnan*"),
	"event": (
		"event meeting appointment",
		"termin* ereignis*",
		"evento* cita citas reunion*",
		"udalost* schuzk*",
	),
	"company": ("company companies", "firma firmen unternehmen", "empresa*", "spolecnost* firmy"),
	"report": ("report", "bericht*", "informe* reporte*", "prehled*"),
	"file": ("file", "datei*", "archivo*", "soubor*"),
	"email": ("email e-mail mail", "mail mails", "correo*", "mail* zprav*"),
	"address": ("address", "adresse*", "direccion*", "adres*"),
	"issue": ("issue ticket", "ticket*", "incidencia*", "pozadav*"),
	"role": ("role", "rolle*", "rol roles", "role roli"),
	"quotation": ("quotation quote", "angebot*", "cotizacion*", "nabidk*"),
	"payment": ("payment", "zahlung*", "pago pagos", "platb*"),
	"weather": ("weather", "wetter", "tiempo clima", "pocasi"),
}

DOCTYPES = {"todo": "ToDo", "user": "User", "note": "Note", "customer": "Customer", "supplier": "Supplier"}
"""For tools that want a DocType's name as an argument."""

KNOWN_DOCTYPES = {
	"ToDo": {
		"title": "description",
		"fields": {
			"description": {"type": "string"},
			"status": {"type": "string", "enum": ["Open", "Closed", "Cancelled"]},
			"priority": {"type": "string", "enum": ["High", "Medium", "Low"]},
			"date": {"type": "string", "format": "date"},
		},
	},
	"User": {
		"title": "full_name",
		"fields": {"enabled": {"type": "integer", "enum": [0, 1]}, "full_name": {}, "email": {}},
	},
	"Note": {
		"title": "title",
		"fields": {"title": {"type": "string"}, "public": {"type": "integer", "enum": [0, 1]}},
	},
}
"""By DocType: the field that titles a document, and fields that requests speak of."""
