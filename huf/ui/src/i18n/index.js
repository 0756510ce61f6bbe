/**
 * Every text of the pages: one JSON catalogue per language, grouped by area ("runs.filter.agent" is the key "filter.agent" of
 * the area "runs"). English is part of the first load; another language is fetched when it is wanted.
 */
import { createI18n } from "vue-i18n";
import en from "./en.json" with { type: "json" };

const LOADERS = {
	cs: () => import("./cs.json", { with: { type: "json" } }),
	de: () => import("./de.json", { with: { type: "json" } }),
	es: () => import("./es.json", { with: { type: "json" } }),
};

/** Czech has three forms: 1, 2 to 4, everything else. The other languages have vue-i18n's own two. */
function pluralOfCzech(count) {
	if (count === 1) return 0;
	return count >= 2 && count <= 4 ? 1 : 2;
}

/** vue-i18n reads every dot as a level; here only the first one is. */
function resolveMessage(catalogue, key) {
	const dot = key.indexOf(".");
	return catalogue[key.slice(0, dot)]?.[key.slice(dot + 1)] ?? null;
}

const i18n = createI18n({
	legacy: false,
	locale: "en",
	fallbackLocale: "en",
	messages: { en },
	messageResolver: resolveMessage,
	pluralRules: { cs: pluralOfCzech },
});

/** `t(key, {name, count})`: named values are filled in; `count` chooses the plural form. */
export const { t, te: hasText } = i18n.global;

export const currentLocale = () => i18n.global.locale.value;

/** Shows the first wanted language that exists. Called once, before the page is mounted. */
export async function loadLocale(wanted) {
	const languages = wanted.map((tag) => String(tag || "").slice(0, 2));
	const locale = languages.find((language) => language === "en" || LOADERS[language]) || "en";
	if (LOADERS[locale]) i18n.global.setLocaleMessage(locale, (await LOADERS[locale]()).default);
	i18n.global.locale.value = locale;
	if (typeof document !== "undefined") document.documentElement.lang = locale;
}

/** The progress of a run, in its agent's own words where it has any. */
export function progressText(progress) {
	return progress.is_own ? progress.text : t("run.progress", progress);
}
