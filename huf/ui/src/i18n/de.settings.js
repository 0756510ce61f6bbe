/** German of the settings page. */
export default {
	"settings.title": "Einstellungen",
	"settings.loading": "Wird geladen",
	"settings.parts": "Teile der Einstellungen",
	"settings.models": "Modelle und Schritte",
};
