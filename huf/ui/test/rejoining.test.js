import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";

const { followRun, streamRun } = await import("../src/api/chat.ts");

const event = (number, kind, data) =>
	`id: ${number}\nevent: ${kind}\ndata: ${JSON.stringify({ run: "R1", ...data })}\n\n`;
const EVENTS = [
	event(1, "run_started", {}),
	...["One ", "two ", "three ", "four."].map((text, at) => event(at + 2, "text_delta", { step: 1, text })),
	event(6, "run_finished", { status: "Success" }),
];

/** A site whose connections break off after a number of characters each; the last one does not. */
function cutAfter(...lengths) {
	const asked = [];
	globalThis.fetch = async (url) => {
		asked.push(url);
		const after = Number(new URLSearchParams(url.split("?")[1]).get("after") || 0);
		const body = EVENTS.slice(after).join("").slice(0, lengths.shift() ?? Infinity);
		return new Response(body, { headers: { "content-type": "text/event-stream" } });
	};
	return asked;
}

function reader() {
	const received = [];
	return { received, text: () => received.join(""), onEvent: (kind, data) => kind === "text_delta" && received.push(data.text) };
}

const setTimeoutOfNode = globalThis.setTimeout;
beforeEach(() => (globalThis.setTimeout = (call) => setTimeoutOfNode(call, 0)));
afterEach(() => (globalThis.setTimeout = setTimeoutOfNode));

test("a stream that breaks off anywhere is rejoined and yields its text once", async () => {
	const whole = EVENTS.join("").length;
	for (let cut = EVENTS[0].length; cut < whole; cut += 7) {
		const { onEvent, text } = reader();
		cutAfter(cut, 40, 150);
		await streamRun({ agent: "A", prompt: "P" }, { onEvent });
		assert.equal(text(), "One two three four.", `cut after ${cut}`);
	}
});

test("a stream that breaks off before the run has begun is not sent again", async () => {
	const asked = cutAfter(5);
	await assert.rejects(streamRun({ agent: "A", prompt: "P" }, reader()), { kind: "cut" });
	assert.equal(asked.length, 1);
});

test("a run that cannot be followed is given up after some tries", async () => {
	const asked = cutAfter(...Array(20).fill(0));
	await assert.rejects(followRun({ run: "R1", last: 2 }, reader()), { kind: "cut" });
	assert.equal(asked.length, 4);
	assert.match(asked[0], /rejoin\?run=R1&after=2$/);
});
