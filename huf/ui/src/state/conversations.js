/** The history list: newest first, a page at a time. */
import * as api from "../api/chat.js";
import { parseSiteTime } from "../lib/time.js";
import { showError } from "./notices.js";
import { invalidate, queryClient, useList } from "./queries.js";
import { boot } from "./session.js";

const KEY = ["conversations"];

export const useConversations = () =>
	useList({
		queryKey: KEY,
		read: async (start) => ((await api.fetchConversations(start)) || []).map(withTime),
		pageLength: api.PAGE_LENGTH,
	});

function withTime(item) {
	return { ...item, at: parseSiteTime(item.modified, boot.time_zone) };
}

/** Changes the cached pages at once, each by `change(items)`; what the site says later counts. */
function updatePages(change) {
	queryClient.setQueryData(KEY, (data) => data && { ...data, pages: data.pages.map(change) });
}

export const refreshHistory = () => invalidate(...KEY);

/** A run has begun: its conversation is at the top before the site is asked again. */
export function touchConversation({ name, title, agent }) {
	const pages = queryClient.getQueryData(KEY)?.pages || [];
	const known = pages.flat().find((item) => item.name === name);
	const touched = { total_messages: 1, ...known, name, title: known?.title || title, agent, at: new Date() };
	updatePages((items, place) => [
		...(place === 0 ? [touched] : []),
		...items.filter((item) => item.name !== name),
	]);
}

export async function renameConversation({ name }, title) {
	updatePages((items) => items.map((item) => (item.name === name ? { ...item, title } : item)));
	await api.renameConversation(name, title).catch(showError);
	refreshHistory();
}

/** -> whether it is gone */
export async function deleteConversation({ name }) {
	try {
		await api.deleteConversation(name);
	} catch (error) {
		if (error.kind !== "missing") {
			showError(error);
			return false;
		}
	}
	updatePages((items) => items.filter((item) => item.name !== name));
	refreshHistory();
	return true;
}
