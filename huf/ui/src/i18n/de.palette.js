/** German of the palette of commands. */
export default {
	"palette.title": "Gehen zu oder tun",
	"palette.placeholder": "Zu einer Seite, einem Agenten, einem Datensatz …",
	"palette.none": "Nichts gefunden",
	"palette.talk": "Mit {agent} sprechen",
	"palette.new-agent": "Neuer Agent",
	"palette.new-trigger": "Neuer Auslöser",
	"palette.new-tool": "Neues Werkzeug",
	"palette.kind.agent": "Agent",
	"palette.kind.trigger": "Auslöser",
	"palette.kind.tool": "Werkzeug",
	"palette.kind.conversation": "Unterhaltung",
	"palette.kind.run": "Lauf",
	"palette.kind.record": "Datensatz",
	"palette.kind.doctype": "Datensätze",
};
