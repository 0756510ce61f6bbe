/**
 * Every text a person reads goes through t(). English is part of the first load; another language is fetched only when it is
 * wanted: a file beside each of en*.js, and a line in LOADERS. A text missing there falls back to English.
 */
import en from "./en.js";

const LOADERS = {
	cs: () => import("./cs.js"),
	de: () => import("./de.js"),
	es: () => import("./es.js"),
};

let locale = "en";
let texts = en;

/** Picks the first wanted language that there is. Called once, before the page is mounted. */
export async function loadLocale(wanted) {
	for (const tag of wanted) {
		const language = String(tag || "").slice(0, 2);
		if (language === "en") break;
		if (!LOADERS[language]) continue;
		texts = { ...en, ...(await LOADERS[language]()).default };
		locale = language;
		break;
	}
	if (typeof document !== "undefined") document.documentElement.lang = locale;
}

/** Fetches the texts of pages that are not part of the first load, from the files named after them. */
export const loadTexts = (...parts) => Promise.all(parts.map(loadPart));

async function loadPart(part) {
	const [english, own] = await Promise.all([
		import(`./en.${part}.js`),
		locale === "en" ? null : import(`./${locale}.${part}.js`).catch(() => null),
	]);
	texts = { ...english.default, ...texts, ...own?.default };
}

/** How far a run is: in its agent's own words, where it has any. */
export function tellProgress(progress) {
	return progress.is_own ? progress.text : t("run.progress", progress);
}

export function currentLocale() {
	return locale;
}

/** `{name}` in a text is replaced from values. A text {one, other} is chosen by values.count. */
export function t(key, values = {}) {
	let text = texts[key] ?? en[key] ?? key;
	if (typeof text === "object") text = text[new Intl.PluralRules(locale).select(values.count)] ?? text.other;
	return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
