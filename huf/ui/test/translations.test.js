import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { compileCatalogue } from "../build/catalogues.js";
import { currentLocale, loadLocale, loadOtherTexts, t } from "../src/i18n/index.ts";
import { allTexts, CATALOGUES, keysOfFirstPage, readTexts } from "./texts.js";

const LANGUAGES = ["cs", "de", "es"];
const PLURAL_FORMS = { cs: 3, de: 2, es: 2 };

const english = allTexts("en");
const placeholders = (text) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();
const forms = (text) => text.split(" | ").length;

test("there are two catalogues per language and nothing else", () => {
	const files = readdirSync(CATALOGUES, { recursive: true }).filter((name) => name.endsWith(".json"));
	const names = ["cs.json", "de.json", "en.json", "es.json"];
	assert.deepEqual(files.sort(), [...names, ...names.map((name) => `first/${name}`)].sort());
});

test("first/en.json holds the texts that the first page can show, and no others", () => {
	assert.deepEqual(Object.keys(readTexts("first/en.json")).sort(), keysOfFirstPage(Object.keys(english)).sort());
});

test("the texts of other pages are not there before they are fetched", async () => {
	assert.equal(t("section.runs"), "Runs");
	assert.equal(t("runs.title"), "runs.title");
	await loadOtherTexts();
	assert.equal(t("runs.title"), "Runs");
	assert.equal(t("section.runs"), "Runs");
});

test("the build compiles texts with values and leaves the others as they are", () => {
	const { part } = compileCatalogue({ part: { plain: "Runs", counted: "{count} tool | {count} tools" } });
	assert.equal(part.plain, "Runs");
	assert.equal(part.counted.b.c.length, 2);
	assert.throws(() => compileCatalogue({ part: { broken: "{count" } }), /part\.broken/);
});

for (const language of LANGUAGES) {
	const own = allTexts(language);

	test(`${language}: no text is missing and none is left over`, () => {
		for (const folder of ["first/", ""]) {
			const keys = (of) => Object.keys(readTexts(`${folder}${of}.json`));
			assert.deepEqual(keys(language), keys("en"));
		}
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
		await loadOtherTexts();
		for (const [key, text] of Object.entries(own)) {
			const values = Object.fromEntries(placeholders(text).map((name) => [name, 2]));
			assert.ok(!["", key].includes(t(key, values)), key);
		}
	});
}

test("English is shown where none of the wanted languages exists", async () => {
	await loadLocale(["", "fr-FR"]);
	assert.equal(currentLocale(), "en");
	assert.equal(t("section.runs"), "Runs");
});

test("Czech counts in three forms", async () => {
	await loadLocale(["", "fr-FR", "cs-CZ", "en"]);
	await loadOtherTexts();
	assert.equal(currentLocale(), "cs");
	assert.deepEqual(
		[1, 3, 5].map((count) => t("agent.tools", { count })),
		["1 nástroj", "3 nástroje", "5 nástrojů"],
	);
});
