import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { currentLocale, loadLocale, t } from "../src/i18n/index.ts";

const CATALOGUES = path.resolve(import.meta.dirname, "../src/i18n");
const LANGUAGES = ["cs", "de", "es"];
const PLURAL_FORMS = { cs: 3, de: 2, es: 2 };

function readTexts(language) {
	const areas = JSON.parse(readFileSync(path.join(CATALOGUES, `${language}.json`), "utf8"));
	return Object.fromEntries(
		Object.entries(areas).flatMap(([area, texts]) =>
			Object.entries(texts).map(([key, text]) => [`${area}.${key}`, text]),
		),
	);
}

const english = readTexts("en");
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();
const forms = (text) => text.split(" | ").length;

test("there is one catalogue per language and nothing else", () => {
	const files = readdirSync(CATALOGUES).filter((name) => name.endsWith(".json"));
	assert.deepEqual(files.sort(), ["cs.json", "de.json", "en.json", "es.json"]);
});

for (const language of LANGUAGES) {
	const own = readTexts(language);

	test(`${language}: no text is missing and none is left over`, () => {
		assert.deepEqual(Object.keys(own), Object.keys(english));
	});

	test(`${language}: every text has the placeholders of the English one, and its language's plural forms`, () => {
		for (const [key, text] of Object.entries(english)) {
			assert.ok(own[key], key);
			assert.deepEqual(placeholders(own[key]), placeholders(text), key);
			assert.equal(forms(own[key]), forms(text) === 1 ? 1 : PLURAL_FORMS[language], key);
		}
	});

	test(`${language}: every text compiles`, async () => {
		await loadLocale([language]);
		for (const [key, text] of Object.entries(own)) {
			const values = Object.fromEntries(placeholders(text).map((name) => [name, 2]));
			assert.ok(!["", key].includes(t(key, values)), key);
		}
	});
}

test("English is shown where none of the wanted languages exists", async () => {
	await loadLocale(["", "fr-FR"]);
	assert.equal(currentLocale(), "en");
	assert.equal(t("runs.title"), "Runs");
});

test("Czech counts in three forms", async () => {
	await loadLocale(["", "fr-FR", "cs-CZ", "en"]);
	assert.equal(currentLocale(), "cs");
	assert.deepEqual(
		[1, 3, 5].map((count) => t("agent.tools", { count })),
		["1 nástroj", "3 nástroje", "5 nástrojů"],
	);
});
