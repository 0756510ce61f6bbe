/** Attachments of unsent messages, by the name of the draft. They are uploaded at once and stored in this browser like its text. */
import { reactive } from "vue";
import { deleteRecord, readRecord, uploadFile } from "../api/attachments.ts";
import type { Attachment } from "../api/types/conversations.ts";
import { currentLocale, t } from "../i18n/index.ts";
import { isImage, type Limits, NO_LIMITS, problemOf } from "../lib/attachments.ts";
import { parseJson } from "../lib/json.ts";
import { boot } from "./session.ts";
import { recall, remember } from "./storage.ts";

export interface Item {
	key: number;
	file_name: string;
	size: number;
	kind: Attachment["kind"];
	/** The uploaded share, from 0 to 1. */
	share: number;
	error: string | null;
	// Set after the upload:
	name: string | null;
	file_url?: string;
}

export const limits: Limits = { ...NO_LIMITS, ...boot.attachments };
const FIELDS = ["name", "file_name", "file_url", "size", "kind"] as const;
const drafts = new Map<string, Item[]>();
const uploads = new Map<number, AbortController>();
let nextKey = 1;

const place = (draft: string) => `files:${draft}`;

export function attachmentsOf(draft: string): Item[] {
	if (!drafts.has(draft)) {
		const stored: Attachment[] = parseJson(recall(place(draft)) || "[]") || [];
		drafts.set(draft, reactive<Item[]>(stored.map(toItem)));
	}
	return drafts.get(draft)!;
}

const toItem = (file: Attachment): Item => ({ ...file, key: nextKey++, share: 1, error: null });

const described = (item: Item) =>
	Object.fromEntries(FIELDS.map((field) => [field, item[field]])) as unknown as Attachment;

function store(draft: string): void {
	const kept = attachmentsOf(draft).filter((item) => item.name);
	remember(place(draft), kept.length ? JSON.stringify(kept.map(described)) : null);
}

/** Removes files of this page from what is stored: those of another page stay. */
function forget(draft: string, files: { name: string | null }[]): void {
	const stored: Attachment[] = parseJson(recall(place(draft)) || "[]") || [];
	const left = stored.filter(({ name }) => !files.some((file) => file.name === name));
	remember(place(draft), left.length ? JSON.stringify(left) : null);
}

/** A new chat may have got its conversation during an upload. */
const draftOf = (items: Item[]): string | undefined => [...drafts].find(([, each]) => each === items)?.[0];

export function attach(draft: string, files: Iterable<File>): void {
	for (const file of files) attachOne(draft, file);
}

async function attachOne(draft: string, file: File): Promise<void> {
	const items = attachmentsOf(draft);
	const kind: Attachment["kind"] = isImage(file.name, limits) ? "image" : "text";
	items.push({ key: nextKey++, file_name: file.name, size: file.size, kind, share: 0, error: null, name: null });
	const item = items.at(-1)!;
	const controller = new AbortController();
	uploads.set(item.key, controller);
	try {
		const wanted = await fitted(file, kind);
		controller.signal.throwIfAborted();
		const before = items.slice(0, items.indexOf(item)).filter((each) => !each.error);
		const problem = problemOf(wanted, limits, before.length, currentLocale());
		if (problem) throw new Error(t(problem.key, problem.values));
		const onProgress = (share: number) => void (item.share = share);
		const { name, file_url } = await uploadFile(wanted, { onProgress, signal: controller.signal });
		Object.assign(item, { name, file_url, file_name: wanted.name, size: wanted.size, share: 1 });
		store(draftOf(items) ?? draft);
	} catch (error) {
		if (error instanceof Error && error.name !== "AbortError") item.error = error.message;
	} finally {
		uploads.delete(item.key);
	}
}

/** An image that is too large for a model is scaled down here. */
async function fitted(file: File, kind: string): Promise<File> {
	if (kind !== "image" || file.size <= limits.max_image_bytes) return file;
	const { shrinkPicture } = await import("../lib/shrinkPicture.ts").catch(() => {
		throw new Error(t("error.part"));
	});
	return shrinkPicture(file);
}

export function detach(draft: string, item: Item): void {
	const items = attachmentsOf(draft);
	items.splice(items.indexOf(item), 1);
	uploads.get(item.key)?.abort();
	forget(draft, [item]);
	if (item.name) discard(item.name).catch(() => {});
}

/**
 * A file that a message has is not deleted: another page may have sent it, or a message that was edited and refused is
 * written anew. If this fails, a private file remains that only this user sees.
 */
async function discard(name: string): Promise<void> {
	const { attached_to_name: owner } = await readRecord("File", name);
	if (!owner) await deleteRecord("File", name);
}

/** A chat has got its conversation: the files that were added since its first message belong to the next one. */
export function moveAttachments(from: string, to: string): void {
	const items = attachmentsOf(from);
	drafts.delete(from);
	forget(from, items);
	drafts.set(to, items);
	store(to);
}

/** `stored` was removed under this name by another page, which has sent these files, or removed the last one. */
export function forgetRemoved(draft: string, name: string, stored: string): void {
	if (name !== place(draft)) return;
	const gone: (string | null)[] = (parseJson(stored) || []).map((file: Attachment) => file.name);
	const items = attachmentsOf(draft);
	items.splice(0, items.length, ...items.filter((item) => !item.name || !gone.includes(item.name)));
}

/** Removes and returns the attachments to send. */
export function takeAttachments(draft: string): Attachment[] {
	const taken = attachmentsOf(draft).splice(0).map(described);
	forget(draft, taken);
	return taken;
}

/** Attaches the files of a message that was not sent to the next one. */
export function returnAttachments(draft: string, files: Attachment[]): void {
	attachmentsOf(draft).push(...files.map(toItem));
	store(draft);
}

