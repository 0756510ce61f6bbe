/**
 * Deletes with a way back. A record is hidden at once; the request is sent after UNDO_MS, or as soon as the page is left, unless
 * the reader takes it back. If the site refuses, the record is shown again with the reason.
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
	/** It can no longer be taken back. */
	isSent: boolean;
}

interface Options {
	doctype: string;
	name: string;
	/** What the reader knows it by. */
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

/** Starts the time from the beginning. The button that took it back loses the focus too: then there is nothing to start. */
export function startDeletion(deletion: Deletion): void {
	holdDeletion(deletion);
	if (deletion.isSent || !deletions.includes(deletion)) return;
	timers.set(deletion, setTimeout(() => sendDeletion(deletion), UNDO_MS));
}

/** While the reader is at the button, the time stands still. */
export const holdDeletion = (deletion: Deletion): void => clearTimeout(timers.get(deletion));

export function undoDeletion(deletion: Deletion): void {
	holdDeletion(deletion);
	drop(deletion);
}

async function sendDeletion(deletion: Deletion): Promise<void> {
	holdDeletion(deletion);
	deletion.isSent = true;
	await work.get(deletion)!();
	drop(deletion);
}

/** Sends what still waits. */
export const sendDeletions = () => Promise.all(deletions.filter(({ isSent }) => !isSent).map(sendDeletion));

function drop(deletion: Deletion): void {
	const place = deletions.indexOf(deletion);
	if (place >= 0) deletions.splice(place, 1);
}

/** A filter of lists: true for records that are not being deleted. */
export const isShown = (doctype: string) => (record: { name: string }) =>
	!deletions.some((deletion) => deletion.doctype === doctype && deletion.name === record.name);

globalThis.addEventListener?.("pagehide", sendDeletions);
