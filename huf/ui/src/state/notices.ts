/** Short messages about failures away from the thread (rename, delete, sign out). */
import { reactive } from "vue";

interface Notice {
	id: number;
	text: string;
	kind: string;
}

export const notices = reactive<Notice[]>([]);

let next = 1;

/** `error`: an ApiError, or an object of the same shape. Replaces a notice that says the same. Returns the id of its notice. */
export function showError(error: { message: string; kind?: string }): number {
	const same = notices.find((notice) => notice.text === error.message);
	if (same) dismiss(same.id);
	notices.push({ id: next, text: error.message, kind: error.kind || "server" });
	if (notices.length > 3) notices.shift();
	return next++;
}

export function dismiss(id: number): void {
	const at = notices.findIndex((notice) => notice.id === id);
	if (at >= 0) notices.splice(at, 1);
}
