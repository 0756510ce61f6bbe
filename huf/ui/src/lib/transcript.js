/**
 * Builds what the thread shows: a list of turns. Stored messages and live stream events end in the same shapes, so that a
 * reload looks like the run did. Pure: no fetch, no Vue, no clock.
 *
 * user turn   {key, role: "user", run, text, attachments, at, unsent: null | "refused" | "unsure", first, last, rewording}
 *   attachments  [{name, file_name, file_url, size, kind: "image" | "text"}]
 *   rewording    the words in which the reader is about to say it anew, or null
 * note turn   {key, role: "note", text, first, last}
 * agent turn  {key, role: "agent", run, parts, outcome, error, offline, mode, tier, isOngoing, isWaiting, first, last}
 *   first, last  the places of its messages in the conversation; null where they are not known
 *   parts     {type: "text", step, text} | {type: "tool", callId, tool, effect, arguments, status, result, cut, sources (of a
 *             result that was cut), ms, error, draft: what a person is asked about it, or null, isOpened: as the reader has
 *             chosen, or null}
 *   status    running | done | failed | unknown (no result is on record)
 *   outcome   null while running or unknown, else the fields of a finished run
 *   isOngoing a run that goes on without this page
 *   isWaiting a run that waits for a person
 */

export function newUserTurn(text, key, { at = null, run = null, attachments = [] } = {}) {
	const state = { unsent: null, first: null, last: null, rewording: null };
	return { key, role: "user", run, text, attachments, at, ...state };
}

export function newAgentTurn(key, run = null) {
	const state = { offline: false, mode: null, tier: null, isOngoing: false, isWaiting: false };
	return { key, role: "agent", run, parts: [], outcome: null, error: null, first: null, last: null, ...state };
}

/**
 * Stored messages (oldest first) and, where the server knows them, runs {name: outcome} -> turns. `drafts` are those of the
 * conversation, newest first. `timeline`: of a run that has not ended, because a step is said only when it is whole.
 */
export function buildTurns(messages, runs = {}, drafts = [], timeline = null) {
	const turns = [];
	for (const message of messages) {
		if (message.role === "user") turns.push(storedUserTurn(message));
		else if (message.role === "system" && message.kind === "Message") {
			turns.push({ key: message.name, role: "note", text: message.content });
		} else addStored(agentTurnFor(turns, message), message);
		const { sequence = null } = message;
		turns.at(-1).first ??= sequence;
		turns.at(-1).last = sequence;
	}
	const whole = withSilentRuns(turns, runs);
	for (const turn of whole.filter((each) => each.role === "agent")) {
		if (timeline && turn.run === timeline.run.name) addBegunStep(turn, timeline.steps, messages);
		closeStored(turn, runs[turn.run]);
		for (const draft of drafts.toReversed()) if (draft.run === turn.run) addDraft(turn, draft);
	}
	return whole;
}

/**
 * Turns of an earlier part of a conversation before those of a later one. A run that lies on the border is one turn: what
 * both know of it is not repeated. Those of the later part stay the objects they are.
 */
export function joinTurns(earlier, later) {
	const [before, after] = [earlier.at(-1), later[0]];
	const isOneRun = before?.role === "agent" && after?.role === "agent" && before.run && before.run === after.run;
	if (!isOneRun) return [...earlier, ...later];
	after.parts = joinParts(before.parts, after.parts);
	after.first = before.first ?? after.first;
	return [...earlier.slice(0, -1), ...later];
}

function joinParts(earlier, later) {
	const isSame = (one, other) =>
		one.type === "tool"
			? one.callId === other.callId
			: other.type === "text" && one.step === other.step && one.text === other.text;
	const rest = [...later];
	const joined = earlier.map((part) => {
		const at = rest.findIndex((other) => isSame(part, other));
		if (at < 0) return part;
		const [known] = rest.splice(at, 1);
		return part.type === "tool" ? { ...known, arguments: part.arguments, effect: part.effect || known.effect } : known;
	});
	return [...joined, ...rest];
}

/** What is known already of the part of a conversation before `turns`, if nothing is missing between. */
export function turnsBefore(known, turns) {
	const start = turns[0]?.first;
	const earlier = start ? known.filter((turn) => turn.first && turn.first < start) : [];
	return earlier.length && earlier.at(-1).last >= start - 1 ? earlier : [];
}

/** Turns that were read again are shown in the place of those before: what the reader has opened or begun in them stays. */
export function keepShown(known, turns) {
	const idOf = (turn) => `${turn.role} ${turn.run || turn.key}`;
	const shown = new Map(known.map((turn) => [idOf(turn), turn]));
	for (const turn of turns) {
		const before = shown.get(idOf(turn));
		if (!before) continue;
		shown.delete(idOf(turn));
		turn.key = before.key;
		if (turn.role === "user") turn.rewording = before.rewording;
		for (const part of before.parts || []) {
			const again = part.type === "tool" && findTool(turn, part.callId);
			if (again) again.isOpened = part.isOpened;
		}
	}
	return turns;
}

function storedUserTurn(message) {
	const { creation: at, run, attachments = [] } = message;
	return newUserTurn(message.content, message.name, { at, run: run || null, attachments });
}

/** A run that has said nothing (yet, or because it failed at once) still has its place after its prompt. */
function withSilentRuns(turns, runs) {
	const heard = new Set(turns.filter((turn) => turn.role === "agent").map((turn) => turn.run));
	const isSilent = (turn) => turn.role === "user" && runs[turn.run] && !heard.has(turn.run);
	return turns.flatMap((turn) =>
		isSilent(turn) ? [turn, newAgentTurn(`run-${turn.run}`, turn.run)] : [turn],
	);
}

function agentTurnFor(turns, message) {
	const last = turns.at(-1);
	const isSame = last?.role === "agent" && (!last.run || !message.run || last.run === message.run);
	if (!isSame) turns.push(newAgentTurn(message.name, message.run || null));
	return turns.at(-1);
}

function addStored(turn, message) {
	if (message.kind === "Tool Call") addStoredCall(turn, message);
	else if (message.kind === "Tool Result") addStoredResult(turn, message);
	else if (message.kind === "Error") turn.error = message.content;
	else if (message.content) turn.parts.push({ type: "text", step: message.step, text: message.content });
}

function addStoredCall(turn, message) {
	const call = parseJson(message.content);
	const isObject = call && typeof call === "object";
	turn.parts.push({
		...newToolPart(message.tool_call_id, message.tool_name || (isObject && call.name)),
		effect: message.effect || null,
		arguments: isObject && "arguments" in call ? call.arguments : (call ?? message.content),
		status: "unknown",
	});
}

function addStoredResult(turn, message) {
	let part = findTool(turn, message.tool_call_id);
	if (!part) {
		part = newToolPart(message.tool_call_id, message.tool_name);
		turn.parts.push(part);
	}
	const hasFailed =
		message.ok === undefined || message.ok === null ? looksFailed(message.content) : !message.ok;
	part.status = hasFailed ? "failed" : "done";
	part.result = message.content;
	part.error = message.error || null;
	part.ms = message.duration_ms ?? null;
	part.effect = part.effect || message.effect || null;
}

/** What the step that is under way has said and done so far. */
function addBegunStep(turn, steps, messages) {
	const { step, model_calls: asked, tool_calls: made } = steps.at(-1) || {};
	if (!step || messages.some((message) => message.run === turn.run && message.step === step)) return;
	const { text } = asked.at(-1) || {};
	if (text) turn.parts.push({ type: "text", step, text });
	for (const call of made) {
		const given = parseJson(call.arguments) ?? call.arguments;
		turn.parts.push({ ...newToolPart(call.call_id, call.tool), arguments: given, status: "unknown" });
		if (call.status !== "Started" && call.status !== "Unknown")
			addStoredResult(turn, {
				...call,
				tool_call_id: call.call_id,
				content: call.result,
				ok: call.status === "Success",
			});
	}
}

/** A draft takes the place of its call; one whose call has not been made is the newest thing there is. */
function addDraft(turn, draft) {
	const isOwn = (part) => part.type === "tool" && part.callId === draft.call_id && !part.draft;
	let part = turn.parts.find(isOwn);
	if (!part) {
		part = { ...newToolPart(draft.call_id, draft.tool), arguments: draft.arguments, status: "unknown" };
		turn.parts.push(part);
	}
	part.effect ||= draft.effect;
	part.draft = draft;
}

function closeStored(turn, run) {
	if (!run) return;
	Object.assign(turn, { offline: Boolean(run.offline), mode: run.mode || null, tier: run.tier || null });
	if (isOver(run.status)) turn.outcome = run;
	else if (run.status === "Waiting") turn.isWaiting = true;
	else {
		turn.isOngoing = true;
		turn.parts.forEach((part) => part.status === "unknown" && (part.status = "running"));
	}
	if (run.status === "Failed") turn.error = turn.error || run.error || null;
}

export function isOver(status) {
	return ["Success", "Stopped", "Failed", "Cancelled"].includes(status);
}

/** One stream event, applied to the agent turn it belongs to. Unknown kinds are left alone: newer servers may send more. */
export function applyEvent(turn, kind, data) {
	eventHandlers[kind]?.(turn, data);
}

const eventHandlers = {
	run_started(turn, data) {
		begin(turn, data);
		if (data.kept_steps !== undefined) dropText(turn, data.kept_steps + 1);
	},
	text_void: (turn, data) => dropText(turn, data.step),
	run_queued: (turn, data) => Object.assign(begin(turn, data), { isOngoing: true }),
	text_delta(turn, data) {
		const last = turn.parts.at(-1);
		if (last?.type === "text" && last.step === data.step) last.text += data.text;
		else turn.parts.push({ type: "text", step: data.step, text: data.text });
	},
	tool_started(turn, data) {
		if (findTool(turn, data.call_id)) return; // told again, by a run that was taken up again
		turn.parts.push({
			...newToolPart(data.call_id, data.tool),
			effect: data.effect,
			arguments: data.arguments,
		});
	},
	tool_finished(turn, data) {
		if (!findTool(turn, data.call_id)) turn.parts.push(newToolPart(data.call_id, data.tool));
		Object.assign(findTool(turn, data.call_id), {
			status: data.ok ? "done" : "failed",
			result: data.result ?? null,
			cut: Boolean(data.cut),
			sources: data.sources || null,
			ms: data.duration_ms ?? null,
			error: data.error || null,
		});
	},
	draft_created(turn, data) {
		const part = findTool(turn, data.call_id);
		if (part) part.draft = data;
	},
	run_waiting: (turn) => Object.assign(turn, { isWaiting: true }),
	run_finished(turn, data) {
		turn.outcome = data;
		if (data.status === "Failed") turn.error = data.error || null;
		turn.parts.forEach((part) => part.status === "running" && (part.status = "unknown"));
		if (data.response) completeAnswer(turn, data.response);
	},
};

/** What was told of this step and later ones does not count: it comes again. */
function dropText(turn, step) {
	turn.parts = turn.parts.filter((part) => part.type !== "text" || part.step < step);
}

function begin(turn, data) {
	const { run, mode = null, tier = null } = data;
	return Object.assign(turn, { run, mode, tier, offline: Boolean(data.offline) });
}

/** The response is the authority: what the stream left out of it is added, what is already there is not repeated. */
function completeAnswer(turn, response) {
	const answer = response.trim();
	const text = turn.parts.map((part) => part.text || "").join("");
	if (text.trim().endsWith(answer)) return;
	const last = turn.parts.at(-1);
	if (last?.type === "text" && answer.startsWith(last.text.trim())) last.text = response;
	else turn.parts.push({ type: "text", step: null, text: response });
}

/** The connection is gone: nothing may go on spinning as if news could still come. */
export function markInterrupted(turn) {
	turn.parts.forEach((part) => part.status === "running" && (part.status = "unknown"));
}

export function answerText(turn) {
	return turn.parts
		.filter((part) => part.type === "text")
		.map((part) => part.text)
		.join("\n\n")
		.trim();
}

function newToolPart(callId, tool) {
	return {
		type: "tool",
		callId,
		tool: tool || "",
		effect: null,
		arguments: null,
		status: "running",
		result: null,
		cut: false,
		sources: null,
		ms: null,
		error: null,
		draft: null,
		isOpened: null,
	};
}

function findTool(turn, callId) {
	return turn.parts.find((part) => part.type === "tool" && part.callId === callId);
}

/** Older records do not say whether a call went well; a failure must not pass for a success. */
function looksFailed(content) {
	const value = parseJson(content);
	if (value && typeof value === "object") {
		return Boolean(value.error) || value.success === false || value.ok === false;
	}
	return /^(error|traceback)\b/i.test(String(content ?? "").trim());
}

export function parseJson(text) {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}
