/** English of the settings page. */
export default {
	"settings.title": "Settings",
	"settings.loading": "Loading",
	"settings.parts": "Parts of the settings",
	"settings.models": "Models and steps",
};
