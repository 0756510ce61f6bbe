/** The messages of a chat, and what renders them, are fetched when someone begins to write or opens a conversation. */
import { defineAsyncComponent } from "vue";
import { loadMarkdown } from "../components/markdownLoader.js";
import { t } from "../i18n/index.ts";
import { showError } from "../state/notices.ts";

const RETRY_MS = 3_000;
const MAX_RETRY_MS = 60_000;

let loading = null;

function loadThread() {
	loadMarkdown();
	loading ||= import("./ChatThread.vue").catch((error) => {
		loading = null;
		throw error;
	});
	return loading;
}

export const ChatThread = defineAsyncComponent({
	loader: loadThread,
	/**
	 * What was just sent is shown, with its error, when the site can be reached again. After an update of the site the file is
	 * gone for good, so the pauses grow.
	 */
	onError(error, retry, fail, attempts) {
		if (attempts === 1) showError({ message: t("error.page"), kind: "stale" });
		setTimeout(retry, Math.min(attempts * RETRY_MS, MAX_RETRY_MS));
	},
});

/** Fetched ahead; a failure is told when the thread is to be shown. */
export const fetchThread = () => loadThread().catch(() => {});
