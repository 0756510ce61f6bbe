/**
 * What the site tells this person of their runs as it happens: {run, kind, ...} as in huf/ai/records/events.py. A page
 * also looks by itself now and then, so it works where nothing can be heard.
 */
import { getCurrentScope, onScopeDispose } from "vue";
import { boot } from "./session.js";

const listeners = new Set();
let isAsked = false;

/** Calls `listener` with every message, as long as the page that asked is open. */
export function onRunNews(listener) {
	listeners.add(listener);
	if (getCurrentScope()) onScopeDispose(() => listeners.delete(listener));
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
	socket.on("huf_run", (message) => listeners.forEach((listener) => listener(message)));
}
