/** Spanish of the palette of commands. */
export default {
	"palette.title": "Ir a o hacer",
	"palette.placeholder": "Ir a una página, un agente, un registro…",
	"palette.none": "No se encontró nada",
	"palette.talk": "Hablar con {agent}",
	"palette.new-agent": "Agente nuevo",
	"palette.new-trigger": "Disparador nuevo",
	"palette.new-tool": "Herramienta nueva",
	"palette.kind.agent": "Agente",
	"palette.kind.trigger": "Disparador",
	"palette.kind.tool": "Herramienta",
	"palette.kind.conversation": "Conversación",
	"palette.kind.run": "Ejecución",
	"palette.kind.record": "Registro",
	"palette.kind.doctype": "Registros",
};
