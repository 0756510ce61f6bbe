import assert from "node:assert/strict";
import { test } from "node:test";
import { loadChat } from "../src/state/chatMessages.ts";
import { sendPrompt } from "../src/state/chatRuns.ts";
import { newUserTurn } from "../src/lib/turns.ts";
import { openChat } from "../src/state/chats.ts";

const events = (...list) =>
	new Response(list.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(""), {
		headers: { "Content-Type": "text/event-stream" },
	});
const ANSWER = [
	["run_started", { run: "R", conversation: "C", agent: "A" }],
	["text_delta", { step: 1, text: "Two." }],
	["run_finished", { run: "R", status: "Success", response: "Two." }],
];
const CONVERSATION = { name: "C", title: "Chat", agent: "A", may_write: true, may_share: true };
const saidIn = (chat) => chat.turns.map((turn) => turn.text ?? turn.parts.map((part) => part.text).join(""));

test("messages that were read before a run was sent do not replace its answer", async (context) => {
	const answers = {
		"huf.api.chat.stream": async () => events(...ANSWER),
		"huf.api.draft.get_drafts": async () => Response.json({ message: [] }),
		"huf.api.chat.get_conversations": async () => Response.json({ message: [] }),
	};
	let answerRead;
	answers["huf.ai.agent_chat.get_agent_chat_messages"] = () => new Promise((resolve) => (answerRead = resolve));
	context.mock.method(globalThis, "fetch", (url) => answers[url.split("/").at(-1).split("?")[0]]());

	const chat = openChat("C");
	const reading = loadChat(chat);
	await sendPrompt(chat, "How many?", "A");
	assert.deepEqual(saidIn(chat), ["How many?", "Two."]);
	answerRead(Response.json({ message: { conversation: CONVERSATION, messages: [], runs: {} } }));
	await reading;
	assert.deepEqual(saidIn(chat), ["How many?", "Two."]);
});

test("of two reads that overtake each other the later one counts", async (context) => {
	const waiting = [];
	const answers = {
		"huf.api.draft.get_drafts": async () => Response.json({ message: [] }),
		"huf.ai.agent_chat.get_agent_chat_messages": () => new Promise((resolve) => waiting.push(resolve)),
	};
	context.mock.method(globalThis, "fetch", (url) => answers[url.split("/").at(-1).split("?")[0]]());
	const answer = (...texts) => {
		const messages = texts.map((content, at) => ({ name: `M${at}`, sequence: at, role: "user", content, run: `R${at}` }));
		return Response.json({ message: { conversation: { ...CONVERSATION, name: "D" }, messages, runs: {} } });
	};

	const chat = openChat("D");
	const reads = [loadChat(chat), loadChat(chat)];
	waiting[1](answer("One.", "Two."));
	await reads[1];
	waiting[0](answer("One."));
	await reads[0];
	assert.deepEqual(saidIn(chat).filter(Boolean), ["One.", "Two."]);
});

test("a message that is refused while the chat is read again stays, with its error", async (context) => {
	const stored = { name: "M0", sequence: 0, role: "user", content: "One.", run: "R0" };
	let refuse;
	const answers = {
		"huf.api.draft.get_drafts": async () => Response.json({ message: [] }),
		"huf.ai.agent_chat.get_agent_chat_messages": async () => {
			const runs = { R0: { name: "R0", status: "Queued" } };
			return Response.json({ message: { conversation: { ...CONVERSATION, name: "F" }, messages: [stored], runs } });
		},
		"huf.api.chat.stream": () => new Promise((resolve) => (refuse = resolve)),
	};
	context.mock.method(globalThis, "fetch", (url) => answers[url.split("/").at(-1).split("?")[0]]());

	const chat = openChat("F");
	await loadChat(chat);
	context.after(() => clearTimeout(chat.poll));
	const sending = sendPrompt(chat, "One.", "A");
	await loadChat(chat);
	assert.deepEqual(saidIn(chat).filter(Boolean), ["One.", "One."]);
	refuse(Response.json({ exc_type: "ValidationError" }, { status: 417 }));
	await sending;
	assert.deepEqual([chat.turns.at(-1).text, chat.turns.at(-1).unsent], ["One.", "refused"]);
	assert.equal(chat.problem.error.kind, "rejected");
});

test("messages that were read before one was queued do not remove it", async (context) => {
	const waiting = [];
	const answers = {
		"huf.api.draft.get_drafts": async () => Response.json({ message: [] }),
		"huf.ai.agent_chat.get_agent_chat_messages": () => new Promise((resolve) => waiting.push(resolve)),
		"huf.api.chat.stream": async () => events(["run_queued", { run: "R1", conversation: "G", agent: "A" }]),
	};
	context.mock.method(globalThis, "fetch", (url) => answers[url.split("/").at(-1).split("?")[0]]());

	const chat = Object.assign(openChat("G"), { isLoaded: true, waiting: "R0" });
	const reading = loadChat(chat);
	await sendPrompt(chat, "Two.", "A");
	waiting[0](Response.json({ message: { conversation: { ...CONVERSATION, name: "G" }, messages: [], runs: {} } }));
	await reading;
	assert.deepEqual(saidIn(chat), ["Two."]);
});

test("a run of a chat that this user can no longer read is not followed", async (context) => {
	context.mock.method(globalThis, "fetch", async () => Response.json({ exc_type: "DoesNotExistError" }, { status: 404 }));
	const chat = Object.assign(openChat("E"), { isLoaded: true, ongoing: "R", poll: undefined });
	await loadChat(chat);
	assert.deepEqual([chat.problem.kind, chat.ongoing, chat.poll], ["not-read", null, undefined]);
});

test("an interrupted answer is no longer reported once the chat was read, also beside an unsent message", async (context) => {
	const message = { name: "M1", sequence: 1, role: "user", content: "One.", run: "R1" };
	const stored = { conversation: { ...CONVERSATION, name: "I" }, messages: [message], runs: {} };
	const answers = {
		"huf.api.draft.get_drafts": async () => Response.json({ message: [] }),
		"huf.ai.agent_chat.get_agent_chat_messages": async () => Response.json({ message: stored }),
	};
	context.mock.method(globalThis, "fetch", (url) => answers[url.split("/").at(-1).split("?")[0]]());
	const chat = openChat("I");
	chat.turns.push({ ...newUserTurn("Two.", "key"), unsent: "unsure" });
	for (const [hasStarted, isTold] of [[true, false], [false, true]]) {
		chat.problem = { error: { kind: "cut" }, hasStarted };
		await loadChat(chat);
		assert.deepEqual(saidIn(chat), ["One.", "Two."]);
		assert.equal(Boolean(chat.problem), isTold);
	}
});
