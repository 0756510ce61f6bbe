/** The history list: newest first, a page at a time. */
import type { InfiniteData } from "@tanstack/vue-query";
import type { Ref } from "vue";
import * as api from "../api/chat.ts";
import type { ConversationItem } from "../api/types/conversations.ts";
import { t } from "../i18n/index.ts";
import { parseSiteTime } from "../lib/time.ts";
import { type Chat, markUnlisted, openChats } from "./chats.ts";
import { deleteLater } from "./deletions.ts";
import { showError } from "./notices.ts";
import { invalidate, queryClient, useData, useList } from "./queries.ts";
import { boot } from "./session.ts";

const KEY = ["conversations"];
export const CONVERSATION = "Agent Conversation";

/** The versions of a chat's messages; reloaded with the history. `name` is a ref. */
export const useVersions = (name: Ref<string | null>) =>
	useData({
		queryKey: [...KEY, "versions", name],
		queryFn: () => api.fetchVersions(name.value!),
		enabled: () => Boolean(name.value),
	});

/** Opens a version, which is then listed instead of the previous one. For a user with read access only, nothing changes. */
export async function showVersion(name: string): Promise<void> {
	await api.showVersion(name).catch(() => {});
	refreshHistory();
}

/** A version has got its message, so it replaces the other one in the list. */
export function listVersion(chat: Chat): void {
	if (!chat.isUnlisted) return;
	markUnlisted(chat, false);
	showVersion(chat.conversation!);
}

export type HistoryItem = ConversationItem & { at: Date | null };

export const useConversations = () =>
	useList({
		queryKey: KEY,
		read: async (start) => ((await api.fetchConversations(start)) || []).map(withTime),
		pageLength: api.PAGE_LENGTH,
	});

function withTime(item: ConversationItem): HistoryItem {
	return { ...item, at: parseSiteTime(item.modified, boot.time_zone) };
}

/** Changes the cached pages at once, each by `change(items)`; the site's next response replaces them. */
function updatePages(change: (items: HistoryItem[], place: number) => HistoryItem[]): void {
	queryClient.setQueryData<InfiniteData<HistoryItem[]>>(KEY, (data) => data && { ...data, pages: data.pages.map(change) });
}

export const refreshHistory = () => invalidate(...KEY);

/** A run has started: its conversation moves to the top before the site is asked again. */
export function touchConversation({ name, title, agent }: { name: string; title: string; agent: string }): void {
	const pages = queryClient.getQueryData<InfiniteData<HistoryItem[]>>(KEY)?.pages || [];
	const known = pages.flat().find((item) => item.name === name);
	const newest = { modified: "", total_messages: 1, ...known, name, title: known?.title || title, agent, at: new Date() };
	updatePages((items, place) => [
		...(place === 0 ? [newest] : []),
		...items.filter((item) => item.name !== name),
	]);
}

export async function renameConversation({ name }: { name: string }, title: string): Promise<void> {
	updatePages((items) => items.map((item) => (item.name === name ? { ...item, title } : item)));
	const chat = [...openChats()].find((each) => each.conversation === name);
	const before = chat?.title || "";
	if (chat) chat.title = title;
	await api.renameConversation(name, title).catch((error) => {
		if (chat) chat.title = before;
		showError(error);
	});
	refreshHistory();
}

/** Deletes it with all its versions, unless that is undone. */
export const deleteConversation = ({ name, title }: { name: string; title: string }): void =>
	deleteLater({ doctype: CONVERSATION, name, title: title || t("chat.untitled"), send: () => api.deleteConversation(name) });
