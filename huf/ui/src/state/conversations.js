/** The history list: newest first, a page at a time. Changes show at once and are taken back when the site refuses them. */
import { reactive } from "vue";
import * as api from "../api/chat.js";
import { parseSiteTime } from "../lib/time.js";
import { showError } from "./notices.js";
import { boot } from "./session.js";

export const history = reactive({ list: [], isLoaded: false, isLoading: false, hasMore: false, error: null });

/** Loads the newest page; conversations known from further pages stay. */
export async function refreshHistory() {
	await loadInto(0, (page) => {
		const fresh = new Set(page.map((item) => item.name));
		// A short page is the whole list: what is not on it is gone.
		const rest = page.length < api.PAGE_LENGTH ? [] : history.list.filter((item) => !fresh.has(item.name));
		history.list = [...page, ...rest];
		if (!rest.length) history.hasMore = page.length === api.PAGE_LENGTH;
	});
}

export async function loadMoreHistory() {
	await loadInto(history.list.length, (page) => {
		const known = new Set(history.list.map((item) => item.name));
		history.list.push(...page.filter((item) => !known.has(item.name)));
		history.hasMore = page.length === api.PAGE_LENGTH;
	});
}

async function loadInto(start, take) {
	history.isLoading = true;
	try {
		take(((await api.fetchConversations(start)) || []).map(withTime));
		history.isLoaded = true;
		history.error = null;
	} catch (error) {
		history.error = error;
	} finally {
		history.isLoading = false;
	}
}

function withTime(item) {
	return { ...item, at: parseSiteTime(item.modified, boot.time_zone) };
}

/** A run has begun: its conversation is at the top before the site is asked again. */
export function touchConversation({ name, title, agent }) {
	const known = history.list.find((item) => item.name === name);
	const rest = history.list.filter((item) => item.name !== name);
	history.list = [
		{ total_messages: 1, ...known, name, title: known?.title || title, agent, at: new Date() },
		...rest,
	];
}

export async function renameConversation(item, title) {
	const before = item.title;
	item.title = title;
	try {
		await api.renameConversation(item.name, title);
	} catch (error) {
		item.title = before;
		showError(error);
	}
}

/** -> whether it is gone */
export async function deleteConversation(item) {
	try {
		await api.deleteConversation(item.name);
	} catch (error) {
		if (error.kind !== "missing") {
			showError(error);
			return false;
		}
	}
	history.list = history.list.filter((other) => other.name !== item.name);
	return true;
}
