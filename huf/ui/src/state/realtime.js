/**
 * What the site tells this person as it happens: of their runs {run, kind, ...} as in huf/ai/records/events.py, and of drafts
 * that wait for their answer {draft, run, agent, tool}. A page also looks by itself now and then, so it works where nothing
 * can be heard.
 */
import { getCurrentScope, onScopeDispose } from "vue";
import { boot } from "./session.js";

const listeners = { huf_run: new Set(), huf_draft: new Set() };
let isAsked = false;

/** Calls `listener` with every message, as long as the page that asked is open. */
export const onRunNews = (listener) => listen("huf_run", listener);
export const onDraftNews = (listener) => listen("huf_draft", listener);

function listen(event, listener) {
	listeners[event].add(listener);
	if (getCurrentScope()) onScopeDispose(() => listeners[event].delete(listener));
	connect();
}

async function connect() {
	if (isAsked || !boot.site_name) return;
	isAsked = true;
	const { io } = await import("socket.io-client");
	const socket = io(`${location.origin}/${boot.site_name}`, {
		withCredentials: true,
		reconnectionAttempts: 5,
	});
	// Whoever looks from outside, a test or a person, can see whether the page hears its site.
	const show = (state) => () => (document.documentElement.dataset.realtime = state);
	socket.on("connect", show("connected")).on("disconnect", show("disconnected"));
	for (const [event, known] of Object.entries(listeners))
		socket.on(event, (message) => known.forEach((listener) => listener(message)));
}
