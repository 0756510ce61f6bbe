/** Czech of the settings page. */
export default {
	"settings.title": "Nastavení",
	"settings.loading": "Načítá se",
	"settings.parts": "Části nastavení",
	"settings.models": "Modely a kroky",
};
