import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { serverMessage } from "../src/api/errors.js";
import en from "../src/i18n/en.js";
import { loadTexts, t, tellProgress } from "../src/i18n/index.js";
import { formatCost, formatDuration, initials } from "../src/lib/format.js";

const TEXTS = path.resolve(import.meta.dirname, "../src/i18n");
const files = readdirSync(TEXTS).filter((name) => /^en\.\w+\.js$/.test(name));
const modules = await Promise.all(files.map((name) => import(path.join(TEXTS, name))));
const PARTS = modules.map((module) => module.default);
const later = Object.assign({}, ...PARTS);
const SOURCES = path.resolve(import.meta.dirname, "../src");

function sources() {
	return readdirSync(SOURCES, { recursive: true })
		.filter((name) => /\.(vue|js)$/.test(name))
		.map((name) => readFileSync(path.join(SOURCES, name), "utf8"));
}

test("every text that the sources ask for exists", () => {
	const keys = sources().flatMap((text) =>
		[...text.matchAll(/\bt\(\s*["']([\w.-]+)["']/g)].map((match) => match[1]),
	);
	assert.ok(keys.length > 50);
	const texts = { ...en, ...later };
	assert.deepEqual(
		keys.filter((key) => !(key in texts)),
		[],
	);
});

test("the texts of a later page come with it and take no other's place", async () => {
	assert.equal(t("runs.title"), "runs.title");
	await loadTexts("runs");
	assert.equal(t("runs.title"), "Runs");
	// One part may bring another along; a key has one text all the same.
	for (const part of PARTS) for (const key in part) assert.deepEqual(part[key], later[key]);
	assert.deepEqual(
		PARTS.flatMap((part) => Object.keys(part)).filter((key) => key in en),
		[],
	);
});

test("no text of a later page is left over", () => {
	const all = sources().join("\n");
	const quoted = new Set([...all.matchAll(/["']([\w.-]+)["'](?!:)/g)].map((match) => match[1]));
	const made = [...all.matchAll(/`([\w.]+\.)\$\{/g)].map((match) => match[1]);
	const isUsed = (key) => quoted.has(key) || made.some((beginning) => key.startsWith(beginning));
	assert.deepEqual(
		Object.keys(later).filter((key) => !isUsed(key)),
		[],
	);
});

test("a German text stands for an English one, with the same values in it", async () => {
	const values = (text) => [...JSON.stringify(text).matchAll(/\{\w+\}/g)].map(String).sort();
	for (const name of readdirSync(TEXTS).filter((name) => /^de\..*js$/.test(name))) {
		const english = (await import(path.join(TEXTS, name.replace("de", "en")))).default;
		const own = (await import(path.join(TEXTS, name))).default;
		for (const key of Object.keys(own)) assert.deepEqual(values(own[key]), values(english[key] ?? null), key);
	}
});

test("progress is told in an agent's own words where it has any", () => {
	const told = { step: 3, of: 20, what: "Durchsuche Gesetze", text: "Schritt 3/20: Durchsuche Gesetze..." };
	assert.equal(tellProgress({ ...told, is_own: true }), "Schritt 3/20: Durchsuche Gesetze...");
	assert.equal(tellProgress({ ...told, is_own: false }), "Step 3 of 20: Durchsuche Gesetze");
});

test("values are filled in and counted forms are chosen", () => {
	assert.equal(t("welcome.morning.name", { name: "Anna" }), "Good morning, Anna");
	assert.equal(t("agent.tools", { count: 1 }), "1 tool");
	assert.equal(t("agent.tools", { count: 0 }), "0 tools");
});

test("Frappe's packed messages are unpacked and their markup taken off", () => {
	const body = {
		_server_messages: JSON.stringify([JSON.stringify({ message: "Agent <b>X</b> is disabled" })]),
	};
	assert.equal(serverMessage(body), "Agent X is disabled");
	assert.equal(
		serverMessage({ exception: "frappe.exceptions.ValidationError: Title is missing" }),
		"Title is missing",
	);
	assert.equal(serverMessage({}), "");
});

test("small sums are not rounded to nothing", () => {
	assert.equal(formatCost(0.00158), "$0.0016");
	assert.equal(formatCost(1.5), "$1.50");
	assert.equal(formatCost(0), "$0.00");
});

test("durations are read at a glance", () => {
	assert.deepEqual(
		[4, 2140, 63_000].map((ms) => formatDuration(ms)),
		["4 ms", "2.1 s", "1 min 3 s"],
	);
	assert.equal(formatDuration(null), "");
});

test("initials are made of any name", () => {
	assert.deepEqual(["Anna Weber", "Administrator", "", "Jan van Dyk"].map(initials), ["AW", "A", "?", "JD"]);
});
