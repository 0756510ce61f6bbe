/**
 * What is attached to messages that are not sent yet, by the name of the unsent text. Uploaded at once; what is on the site is
 * remembered like the text.
 *
 * item  {key, file_name, size, kind, share (of it that is uploaded), error, name and file_url (once it is uploaded)}
 */
import { reactive } from "vue";
import { deleteRecord, uploadFile } from "../api/attachments.js";
import { t } from "../i18n/index.js";
import { isPicture, NO_LIMITS, problemOf } from "../lib/attachments.js";
import { parseJson } from "../lib/transcript.js";
import { boot } from "./session.js";
import { recall, remember } from "./storage.js";

export const limits = { ...NO_LIMITS, ...boot.attachments };
const FIELDS = ["name", "file_name", "file_url", "size", "kind"];
const drafts = new Map();
const uploads = new Map();
let nextKey = 1;

const place = (draft) => `files:${draft}`;

export function attachmentsOf(draft) {
	if (!drafts.has(draft)) {
		const stored = parseJson(recall(place(draft)) || "[]") || [];
		const items = stored.map((file) => ({ ...file, key: nextKey++, share: 1, error: null }));
		drafts.set(draft, reactive(items));
	}
	return drafts.get(draft);
}

const described = (item) => Object.fromEntries(FIELDS.map((field) => [field, item[field]]));

function store(draft) {
	const kept = attachmentsOf(draft).filter((item) => item.name);
	remember(place(draft), kept.length ? JSON.stringify(kept.map(described)) : null);
}

export function attach(draft, files) {
	for (const file of files) attachOne(draft, file);
}

async function attachOne(draft, file) {
	const items = attachmentsOf(draft);
	const kind = isPicture(file.name, limits) ? "image" : "text";
	items.push({ key: nextKey++, file_name: file.name, size: file.size, kind, share: 0, error: null, name: null });
	const item = items.at(-1);
	const controller = new AbortController();
	uploads.set(item.key, controller);
	try {
		const wanted = await fitted(file, kind);
		const problem = problemOf(wanted, limits, items.indexOf(item));
		if (problem) throw new Error(t(problem.key, problem.values));
		const onProgress = (share) => (item.share = share);
		const { name, file_url } = await uploadFile(wanted, { onProgress, signal: controller.signal });
		Object.assign(item, { name, file_url, file_name: wanted.name, size: wanted.size, share: 1 });
		store(draft);
	} catch (error) {
		if (error.name !== "AbortError") item.error = error.message;
	} finally {
		uploads.delete(item.key);
	}
}

/** A picture that is too large for a model is made smaller here. */
async function fitted(file, kind) {
	if (kind !== "image" || file.size <= limits.most_picture_bytes) return file;
	const { shrinkPicture } = await import("../lib/shrinkPicture.js");
	return shrinkPicture(file);
}

export function detach(draft, item) {
	const items = attachmentsOf(draft);
	items.splice(items.indexOf(item), 1);
	uploads.get(item.key)?.abort();
	store(draft);
	// Where that fails, a private file is left that only this person sees.
	if (item.name) deleteRecord("File", item.name).catch(() => {});
}

/** What was sent is the site's, and need not be remembered; what was added since belongs to the conversation. */
export function moveAttachments(from, to) {
	const items = attachmentsOf(from);
	drafts.delete(from);
	remember(place(from), null);
	drafts.set(to, items);
	store(to);
}

/** Those that are sent now. They stay remembered until the site has taken the message on. */
export function takeAttachments(draft) {
	return attachmentsOf(draft).splice(0).map(described);
}

