/** Spanish of the settings page. */
export default {
	"settings.title": "Ajustes",
	"settings.loading": "Cargando",
	"settings.parts": "Partes de los ajustes",
	"settings.models": "Modelos y pasos",
};
