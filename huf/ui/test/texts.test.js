import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { serverMessage } from "../src/api/errors.ts";
import { loadOtherTexts, progressText, t } from "../src/i18n/index.ts";
import { formatCost, formatDuration, initials } from "../src/lib/format.ts";
import { allTexts, namedKeys } from "./texts.js";

const texts = allTexts("en");
const SOURCES = path.resolve(import.meta.dirname, "../src");

function sources() {
	return readdirSync(SOURCES, { recursive: true })
		.filter((name) => /\.(vue|js|ts)$/.test(name))
		.map((name) => readFileSync(path.join(SOURCES, name), "utf8"));
}

test("every text that the sources ask for exists", () => {
	const keys = sources().flatMap((text) =>
		[...text.matchAll(/\bt\(\s*["']([\w.-]+)["']/g)].map((match) => match[1]),
	);
	assert.ok(keys.length > 50);
	assert.deepEqual(
		keys.filter((key) => !(key in texts)),
		[],
	);
});

test("no text is left over", () => {
	const keys = Object.keys(texts);
	assert.deepEqual(namedKeys(keys, sources().join("\n")), keys);
});

test("progress is shown in an agent's own words where it has any", () => {
	const progress = { step: 3, of: 20, what: "Durchsuche Gesetze", text: "Schritt 3/20: Durchsuche Gesetze..." };
	assert.equal(progressText({ ...progress, is_own: true }), "Schritt 3/20: Durchsuche Gesetze...");
	assert.equal(progressText({ ...progress, is_own: false }), "Step 3 of 20: Durchsuche Gesetze");
	assert.equal(progressText({ text: "Row 4 of 9", is_own: true, fraction: 4 / 9 }), "Row 4 of 9 (44%)");
});

test("values are filled in and counted forms are chosen", async () => {
	await loadOtherTexts();
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
