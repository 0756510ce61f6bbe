/**
 * What the protocol's own client makes of a started Huf, for huf/embedded/tests/clients_test.py: node agui-client.mjs URL
 * KEY:SECRET. Prints one JSON object: what each run told and the messages the client holds afterwards.
 */
import { HttpAgent } from "@ag-ui/client";

const [url, key] = process.argv.slice(2);

function newAgent(threadId, agent) {
	return new HttpAgent({
		url: `${url}/copilotkit/stream?agent=${encodeURIComponent(agent)}`,
		headers: { Authorization: `token ${key}` },
		threadId,
	});
}

async function run(agent, parameters = {}) {
	const kinds = [];
	let outcome = null;
	let error = null;
	try {
		await agent.runAgent(parameters, {
			onEvent: ({ event }) => void kinds.push(event.type),
			onRunFinishedEvent: ({ event }) => void (outcome = event.outcome),
		});
	} catch (failure) {
		error = String(failure.message || failure);
	}
	return { kinds, outcome, error, messages: agent.messages, state: agent.state };
}

function say(agent, content) {
	agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
	return run(agent);
}

const reader = newAgent("thread-1", "Reader");
const read = await say(reader, "How many todos?");
const joined = await run(newAgent("thread-1", "Reader"));
const refused = await say(newAgent("thread-2", "Nobody"), "Hi");

const writer = newAgent("thread-3", "Writer");
const waiting = await say(writer, "Write it down");
const [interrupt] = waiting.outcome?.interrupts || [];
const resume = [{ interruptId: interrupt?.id, status: "resolved", payload: { approved: true } }];
const resumed = await run(writer, { resume });

console.log(JSON.stringify({ read, joined, refused, waiting, resumed }));
