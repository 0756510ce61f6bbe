/**
 * Deletions that can be undone. A record is hidden at once; the request is sent after UNDO_MS, or as soon as the page is
 * left, unless the user undoes it. If the site refuses, the record reappears with the reason.
 */
import { reactive } from "vue";
import type { ApiError } from "../api/errors.ts";
import { deleteRecord } from "../api/resource.ts";
import { showError } from "./notices.ts";
import { invalidateAll } from "./queries.ts";

export const UNDO_MS = 10_000;

export interface Deletion {
	doctype: string;
	name: string;
	title: string;
	/** It can no longer be undone. */
	isSent: boolean;
}

interface Options {
	doctype: string;
	name: string;
	/** Its display name. */
	title?: string;
	/** The request. Has to outlive the page: `keepalive`. */
	send?: () => Promise<unknown>;
	/** It is gone. */
	after?: () => void;
}

export const deletions = reactive<Deletion[]>([]);
const timers = new WeakMap<Deletion, ReturnType<typeof setTimeout>>();
const work = new WeakMap<Deletion, () => Promise<void>>();

export function deleteLater({ doctype, name, title = name, send = () => deleteRecord(doctype, name), after }: Options): void {
	if (!isShown(doctype)({ name })) return;
	const deletion = reactive<Deletion>({ doctype, name, title, isSent: false });
	work.set(deletion, async () => {
		try {
			await send();
			after?.();
		} catch (error) {
			if ((error as ApiError).kind !== "missing") showError(error as ApiError);
		}
		await invalidateAll();
	});
	deletions.push(deletion);
	startDeletion(deletion);
}

/** Restarts the timer. The undo button loses the focus when it is pressed, too: then there is nothing to restart. */
export function startDeletion(deletion: Deletion): void {
	holdDeletion(deletion);
	if (deletion.isSent || !deletions.includes(deletion)) return;
	timers.set(deletion, setTimeout(() => sendDeletion(deletion), UNDO_MS));
}

/** The timer is paused while the button has the pointer or the focus. */
export const holdDeletion = (deletion: Deletion): void => clearTimeout(timers.get(deletion));

export function undoDeletion(deletion: Deletion): void {
	holdDeletion(deletion);
	drop(deletion);
}

/** Undoes the newest deletion -> whether there was one. Its button is too far away for the Tab key. */
export function undoNewest(): boolean {
	const newest = deletions.findLast(({ isSent }) => !isSent);
	if (newest) undoDeletion(newest);
	return Boolean(newest);
}

async function sendDeletion(deletion: Deletion): Promise<void> {
	holdDeletion(deletion);
	deletion.isSent = true;
	await work.get(deletion)!();
	drop(deletion);
}

/** Sends all pending deletions. */
export const sendDeletions = () => Promise.all(deletions.filter(({ isSent }) => !isSent).map(sendDeletion));

function drop(deletion: Deletion): void {
	const place = deletions.indexOf(deletion);
	if (place >= 0) deletions.splice(place, 1);
}

/** A filter of lists: true for records that are not being deleted. */
export const isShown = (doctype: string) => (record: { name: string }) =>
	!deletions.some((deletion) => deletion.doctype === doctype && deletion.name === record.name);

globalThis.addEventListener?.("pagehide", sendDeletions);
