/** Czech of the palette of commands. */
export default {
	"palette.title": "Přejít na nebo udělat",
	"palette.placeholder": "Na stránku, agenta, záznam…",
	"palette.none": "Nic se nenašlo",
	"palette.talk": "Mluvit s agentem {agent}",
	"palette.new-agent": "Nový agent",
	"palette.new-trigger": "Nový spouštěč",
	"palette.new-tool": "Nový nástroj",
	"palette.kind.agent": "Agent",
	"palette.kind.trigger": "Spouštěč",
	"palette.kind.tool": "Nástroj",
	"palette.kind.conversation": "Konverzace",
	"palette.kind.run": "Běh",
	"palette.kind.record": "Záznam",
	"palette.kind.doctype": "Záznamy",
};
