import assert from "node:assert/strict";
import { test } from "node:test";
import { createSseParser } from "../src/lib/sse.ts";

function parse(...pieces) {
	const messages = [];
	let comments = 0;
	const parser = createSseParser({
		onMessage: (message) => messages.push(message),
		onComment: () => comments++,
	});
	pieces.forEach((piece) => parser.feed(piece));
	return { messages, comments };
}

const STREAM =
	'id: 1\nevent: text_delta\ndata: {"text":"hé\\n"}\n\n: ping\n\nid: 2\nevent: run_finished\ndata: {}\n\n';
const EXPECTED = [
	{ id: "1", event: "text_delta", data: '{"text":"hé\\n"}' },
	{ id: "2", event: "run_finished", data: "{}" },
];

test("a stream in one piece yields its messages", () => {
	assert.deepEqual(parse(STREAM), { messages: EXPECTED, comments: 1 });
});

test("a stream cut at every place yields the same messages", () => {
	for (let at = 0; at <= STREAM.length; at++) {
		assert.deepEqual(parse(STREAM.slice(0, at), STREAM.slice(at)).messages, EXPECTED);
	}
	assert.deepEqual(parse(...STREAM).messages, EXPECTED);
});

test("CRLF and CR end lines too, even when a CRLF is cut in two", () => {
	const crlf = STREAM.replaceAll("\n", "\r\n");
	assert.deepEqual(parse(...crlf).messages, EXPECTED);
	assert.deepEqual(parse(STREAM.replaceAll("\n", "\r"), "\n").messages, EXPECTED);
});

test("several data lines are joined by line breaks", () => {
	assert.equal(parse("data: a\ndata:b\ndata\n\n").messages[0].data, "a\nb\n");
});

test("only one space after the colon is taken off", () => {
	assert.equal(parse("data:  a: b\n\n").messages[0].data, " a: b");
});

test("an unfinished message, a message without data and unknown fields are left out", () => {
	assert.deepEqual(parse("event: x\n\nretry: 3\nodd: 1\n\ndata: half").messages, []);
});

test("a byte order mark at the beginning is skipped", () => {
	assert.equal(parse("\uFEFFdata: a\n\n").messages[0].data, "a");
});
