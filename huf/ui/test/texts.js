/** The catalogues, and which of their texts the first page can show. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

const SOURCES = path.resolve(import.meta.dirname, "../src");
/** A file imported with the page that names it, or fetched by it without the other texts. */
const IMPORT = /^\s*(?:import|export)\b(?!\s+type\b)[^;"']*?["'](\.[^"']+)["']|(?<!later\(\(\) => )import\("(\.[^"]+)"\)/gm;

export const CATALOGUES = path.join(SOURCES, "i18n");

/** {"area.key": text} of `first/LANGUAGE.json` or `LANGUAGE.json`. */
export function readTexts(file) {
	const areas = JSON.parse(readFileSync(path.join(CATALOGUES, file), "utf8"));
	return Object.fromEntries(
		Object.entries(areas).flatMap(([area, texts]) => Object.entries(texts).map(([key, text]) => [`${area}.${key}`, text])),
	);
}

export const allTexts = (language) => ({ ...readTexts(`first/${language}.json`), ...readTexts(`${language}.json`) });

function filesFrom(file, found = new Set()) {
	if (found.has(file) || !existsSync(file) || !/\.(vue|js|ts)$/.test(file)) return found;
	found.add(file);
	for (const [, target, fetched] of readFileSync(file, "utf8").matchAll(IMPORT)) {
		filesFrom(path.resolve(path.dirname(file), target || fetched), found);
	}
	return found;
}

/** Those of the keys that these sources name, in quotes or by the beginning of a template. */
export function namedKeys(keys, sources) {
	const quoted = new Set([...sources.matchAll(/["']([\w.-]+)["'](?!:)/g)].map((match) => match[1]));
	const beginnings = [...sources.matchAll(/`([\w.]+\.)\$\{/g)].map((match) => match[1]);
	return keys.filter((key) => quoted.has(key) || beginnings.some((beginning) => key.startsWith(beginning)));
}

export function keysOfFirstPage(keys) {
	const files = [...filesFrom(path.join(SOURCES, "main.ts"))];
	return namedKeys(keys, files.map((file) => readFileSync(file, "utf8")).join("\n"));
}
