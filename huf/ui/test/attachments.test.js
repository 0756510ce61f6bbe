import assert from "node:assert/strict";
import { test } from "node:test";
import { acceptedEndings, filesOf, fitWithin, formatSize, problemOf } from "../src/lib/attachments.ts";
import { attachmentsOf, detach, forgetRemoved, returnAttachments } from "../src/state/attachments.ts";
import { buildTurns } from "../src/lib/storedTurns.ts";

const limits = { endings: ["txt", "pdf"], images: ["png"], max_files: 2, max_bytes: 2e7, max_image_bytes: 3_750_000 };

test("what can be read and is small enough can be attached, whatever its ending is written like", () => {
	assert.equal(problemOf({ name: "Report.PDF", size: 2e7 }, limits), null);
	assert.equal(problemOf({ name: "tea.png", size: 3_750_000 }, limits, 1), null);
});

test("what cannot be attached says why", () => {
	const key = (file, count) => problemOf({ size: 1, ...file }, limits, count).key;
	assert.equal(key({ name: "a.zip" }), "attach.type");
	assert.equal(key({ name: "Makefile" }), "attach.type");
	assert.equal(key({ name: "a.txt", size: 0 }), "attach.empty");
	assert.equal(key({ name: "a.png", size: 3_750_001 }), "attach.too_large");
	assert.equal(key({ name: "a.txt" }, 2), "attach.too_many");
});

test("a size is short, and written as the person writes numbers", () => {
	assert.equal(formatSize(1_234_567), "1.2 MB");
	assert.equal(formatSize(20_400_000, "de"), "20 MB");
	assert.equal(formatSize(312), "0.3 kB");
	assert.equal(formatSize(15), "0.1 kB");
});

test("a picture keeps its shape and never grows", () => {
	assert.deepEqual(fitWithin(4000, 3000, 2000), { width: 2000, height: 1500 });
	assert.deepEqual(fitWithin(10, 20, 2000), { width: 10, height: 20 });
});

test("pasted text wins over pasted files", () => {
	const files = [{ name: "image.png" }];
	assert.deepEqual(filesOf({ types: ["Files"], files }), files);
	assert.deepEqual(filesOf({ types: ["text/plain", "Files"], files }), []);
	assert.equal(acceptedEndings(limits), ".txt,.pdf,.png");
});

test("a stored message has its files, and one from before there were any has none", () => {
	const file = { name: "f1", file_name: "a.txt", file_url: "/private/files/a.txt", size: 3, kind: "text" };
	const said = { role: "user", kind: "Message", content: "Read", name: "m1", sequence: 1 };
	const [turn] = buildTurns([{ ...said, attachments: [file] }]);
	assert.deepEqual(turn.attachments, [file]);
	assert.deepEqual(buildTurns([said])[0].attachments, []);
});

test("a file that a message has is not deleted when it is removed from the next message", async (context) => {
	const deleted = [];
	context.mock.method(globalThis, "fetch", async (url, { method }) => {
		const name = url.split("/").at(-1);
		if (method === "DELETE") deleted.push(name);
		return Response.json({ data: { name, attached_to_name: name === "SENT" ? "C" : null } });
	});
	const file = { file_name: "a.txt", file_url: "/a.txt", size: 1, kind: "text" };
	returnAttachments("D", [{ ...file, name: "SENT" }, { ...file, name: "NEW" }]);
	for (const item of [...attachmentsOf("D")]) detach("D", item);
	await new Promise((resolve) => setTimeout(resolve, 20));
	assert.deepEqual(deleted, ["NEW"]);
	assert.deepEqual(attachmentsOf("D"), []);
});

test("files that another page has sent are no longer attached here", () => {
	returnAttachments("D", [{ name: "F1" }, { name: "F2" }]);
	forgetRemoved("D", "files:other", '[{"name": "F1"}]');
	forgetRemoved("D", "files:D", '[{"name": "F1"}]');
	assert.deepEqual(attachmentsOf("D").map((item) => item.name), ["F2"]);
});
