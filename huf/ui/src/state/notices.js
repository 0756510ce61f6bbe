/** Short messages about something that failed away from the thread (rename, delete, sign out). */
import { reactive } from "vue";

export const notices = reactive([]);

let next = 1;

/** @param {{message: string, kind?: string}} error an ApiError */
export function showError(error) {
	notices.push({ id: next++, text: error.message, kind: error.kind || "server" });
	if (notices.length > 3) notices.shift();
}

export function dismiss(id) {
	const at = notices.findIndex((notice) => notice.id === id);
	if (at >= 0) notices.splice(at, 1);
}
