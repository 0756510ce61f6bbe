/**
 * All texts of the pages: two JSON catalogues per language, grouped by area ("runs.filter.agent" is the key "filter.agent"
 * of the area "runs"). `first/` holds the texts of the first page; the others load with the pages that show them. English
 * is part of the first load; another language is fetched when it is wanted.
 */
import { createI18n } from "vue-i18n";
import first from "./first/en.json" with { type: "json" };

type Catalogue = Record<string, Record<string, string>>;
type Loaders = Record<string, () => Promise<{ default: Catalogue }>>;

const FIRST: Loaders = {
	cs: () => import("./first/cs.json", { with: { type: "json" } }),
	de: () => import("./first/de.json", { with: { type: "json" } }),
	es: () => import("./first/es.json", { with: { type: "json" } }),
};
const OTHERS: Loaders = {
	cs: () => import("./cs.json", { with: { type: "json" } }),
	de: () => import("./de.json", { with: { type: "json" } }),
	en: () => import("./en.json", { with: { type: "json" } }),
	es: () => import("./es.json", { with: { type: "json" } }),
};

/** Czech has three forms: 1, 2 to 4, everything else. The other languages have vue-i18n's own two. */
function pluralOfCzech(count: number): number {
	if (count === 1) return 0;
	return count >= 2 && count <= 4 ? 1 : 2;
}

/** vue-i18n treats every dot as a level; here only the first one is. */
function resolveMessage(catalogue: unknown, key: string): string | null {
	const dot = key.indexOf(".");
	return (catalogue as Catalogue)[key.slice(0, dot)]?.[key.slice(dot + 1)] ?? null;
}

const i18n = createI18n({
	legacy: false,
	locale: "en",
	fallbackLocale: "en",
	messages: { en: first as Catalogue },
	messageResolver: resolveMessage,
	pluralRules: { cs: pluralOfCzech },
});

/** Named values are filled in; `count` chooses the plural form. */
export const t = (key: string, values: Record<string, unknown> = {}): string => i18n.global.t(key, values);
export const hasText = (key: string): boolean => i18n.global.te(key);
export const currentLocale = (): string => i18n.global.locale.value;

/** Selects the first wanted language that exists. Called once, before the app is mounted. */
export async function loadLocale(wanted: readonly (string | undefined)[]): Promise<void> {
	const languages = wanted.map((tag) => String(tag || "").slice(0, 2));
	const locale = languages.find((language) => OTHERS[language]) || "en";
	if (FIRST[locale]) i18n.global.setLocaleMessage(locale, (await FIRST[locale]()).default);
	i18n.global.locale.value = locale as "en";
	if (typeof document !== "undefined") document.documentElement.lang = locale;
}

const loading: Record<string, Promise<void>> = {};

/** Loads the texts that the first page does not need. */
export function loadOtherTexts(): Promise<void> {
	const locale = currentLocale();
	loading[locale] ||= OTHERS[locale]().then(
		({ default: texts }) => i18n.global.mergeLocaleMessage(locale, texts),
		(error) => {
			delete loading[locale];
			throw error;
		},
	);
	return loading[locale];
}

/** The progress of a run, in its agent's own words if it has any. */
export function progressText(progress: { is_own?: boolean; text?: string; [value: string]: unknown }): string {
	const line = progress.is_own ? progress.text || "" : t("run.progress", progress);
	const share = progress.fraction;
	if (typeof share !== "number") return line;
	return `${line} (${new Intl.NumberFormat(currentLocale(), { style: "percent" }).format(share)})`;
}
