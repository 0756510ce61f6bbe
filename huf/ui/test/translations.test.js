import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

const TEXTS = path.resolve(import.meta.dirname, "../src/i18n");
const LANGUAGES = ["cs", "de", "es"];
const files = readdirSync(TEXTS);
const parts = files.filter((name) => /^en\.(\w+\.)?js$/.test(name)).map((name) => name.slice(2));
const read = async (name) => (await import(path.join(TEXTS, name))).default;
/** Forms for huge or broken numbers, which t() takes from `other`. */
const RARE = ["many"];

function placeholders(text) {
	return [...new Set([...JSON.stringify(text).matchAll(/\{(\w+)\}/g)].map((match) => match[1]))].sort();
}

for (const language of LANGUAGES) {
	test(`${language}: every text is there, with the same places to fill in and the forms of its plural`, async () => {
		const { pluralCategories } = new Intl.PluralRules(language).resolvedOptions();
		const forms = pluralCategories.filter((form) => !RARE.includes(form)).sort();
		for (const part of parts) {
			assert.ok(files.includes(language + part), `${language}${part} is missing`);
			const [english, own] = await Promise.all([read(`en${part}`), read(language + part)]);
			assert.deepEqual(Object.keys(own), Object.keys(english), language + part);
			for (const [key, text] of Object.entries(english)) {
				assert.deepEqual(placeholders(own[key]), placeholders(text), `${language}${part}: ${key}`);
				if (typeof text === "object") assert.deepEqual(Object.keys(own[key]).sort(), forms, key);
				else assert.ok(typeof own[key] === "string" && own[key], key);
			}
		}
	});
}

test("every language's files belong to a part", () => {
	const own = files.filter((name) => LANGUAGES.includes(name.slice(0, 2)) && name[2] === ".");
	assert.deepEqual(
		own.filter((name) => !parts.includes(name.slice(2))),
		[],
	);
});

test("a language comes with its parts when it is wanted, and counts as it does", async () => {
	const { currentLocale, loadLocale, loadTexts, t } = await import("../src/i18n/index.js");
	await loadLocale(["", "fr-FR", "cs-CZ", "en"]);
	assert.equal(currentLocale(), "cs");
	assert.deepEqual(
		[1, 3, 5].map((count) => t("agent.tools", { count })),
		["1 nástroj", "3 nástroje", "5 nástrojů"],
	);
	assert.equal(t("runs.title"), "runs.title");
	await loadTexts("runs");
	assert.equal(t("runs.title"), "Běhy");
});
