/**
 * Every text of the pages: one JSON catalogue per language, grouped by area ("runs.filter.agent" is the key "filter.agent" of
 * the area "runs"). English is part of the first load; another language is fetched when it is wanted.
 */
import { createI18n } from "vue-i18n";
import en from "./en.json" with { type: "json" };

type Catalogue = Record<string, Record<string, string>>;

const LOADERS: Record<string, () => Promise<{ default: Catalogue }>> = {
	cs: () => import("./cs.json", { with: { type: "json" } }),
	de: () => import("./de.json", { with: { type: "json" } }),
	es: () => import("./es.json", { with: { type: "json" } }),
};

/** Czech has three forms: 1, 2 to 4, everything else. The other languages have vue-i18n's own two. */
function pluralOfCzech(count: number): number {
	if (count === 1) return 0;
	return count >= 2 && count <= 4 ? 1 : 2;
}

/** vue-i18n reads every dot as a level; here only the first one is. */
function resolveMessage(catalogue: unknown, key: string): string | null {
	const dot = key.indexOf(".");
	return (catalogue as Catalogue)[key.slice(0, dot)]?.[key.slice(dot + 1)] ?? null;
}

const i18n = createI18n({
	legacy: false,
	locale: "en",
	fallbackLocale: "en",
	messages: { en: en as Catalogue },
	messageResolver: resolveMessage,
	pluralRules: { cs: pluralOfCzech },
});

/** Named values are filled in; `count` chooses the plural form. */
export const t = (key: string, values: Record<string, unknown> = {}): string => i18n.global.t(key, values);
export const hasText = (key: string): boolean => i18n.global.te(key);
export const currentLocale = (): string => i18n.global.locale.value;

/** Shows the first wanted language that exists. Called once, before the page is mounted. */
export async function loadLocale(wanted: readonly (string | undefined)[]): Promise<void> {
	const languages = wanted.map((tag) => String(tag || "").slice(0, 2));
	const locale = languages.find((language) => language === "en" || LOADERS[language]) || "en";
	if (LOADERS[locale]) i18n.global.setLocaleMessage(locale, (await LOADERS[locale]()).default);
	i18n.global.locale.value = locale as "en";
	if (typeof document !== "undefined") document.documentElement.lang = locale;
}

/** The progress of a run, in its agent's own words where it has any. */
export function progressText(progress: { is_own?: boolean; text?: string; [value: string]: unknown }): string {
	const line = progress.is_own ? progress.text || "" : t("run.progress", progress);
	const share = progress.fraction;
	return typeof share === "number" ? `${line} (${Math.round(share * 100)} %)` : line;
}
