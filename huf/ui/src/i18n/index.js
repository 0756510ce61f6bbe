/**
 * Every text a person reads goes through t(). English is part of the first load; another language is one more file beside
 * en.js and one line in LOADERS, fetched only when it is wanted. A text missing there falls back to English.
 */
import en from "./en.js";

const LOADERS = {
	de: () => import("./de.js"),
	// es: () => import("./es.js"),
	// cs: () => import("./cs.js"),
};

/** Texts that only come with their pages; the same languages as above, each in a file of its own. */
const PARTS = {
	form: { en: () => import("./en.form.js"), de: () => import("./de.form.js") },
	drafts: { en: () => import("./en.drafts.js"), de: () => import("./de.drafts.js") },
	runs: { en: () => import("./en.runs.js") },
	triggers: { en: () => import("./en.triggers.js") },
	knowledge: { en: () => import("./en.knowledge.js") },
	mail: { en: () => import("./en.mail.js") },
	packs: { en: () => import("./en.packs.js") },
	agents: { en: () => import("./en.agents.js") },
	home: { en: () => import("./en.home.js") },
	palette: { en: () => import("./en.palette.js") },
	settings: { en: () => import("./en.settings.js") },
	tools: { en: () => import("./en.tools.js") },
	models: { en: () => import("./en.models.js") },
	records: { en: () => import("./en.records.js") },
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

/** Fetches the texts of a page that is not part of the first load. */
export const loadTexts = (...parts) => Promise.all(parts.map(loadPart));

async function loadPart(part) {
	const loaders = PARTS[part];
	const [english, own] = await Promise.all([loaders.en(), (loaders[locale] || loaders.en)()]);
	texts = { ...english.default, ...texts, ...own.default };
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
