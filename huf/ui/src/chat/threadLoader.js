/** The messages of a chat, and what renders them, are fetched when someone begins to write or opens a conversation. */
import { defineAsyncComponent } from "vue";
import { loadMarkdown } from "../components/markdownLoader.js";
import { t } from "../i18n/index.ts";
import { showError } from "../state/notices.ts";

const RETRY_MS = 3_000;

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
	/** What was just sent is shown, with its error, as soon as the site can be reached again. */
	onError(error, retry, fail, attempts) {
		if (attempts === 1) showError({ message: t("error.page"), kind: "stale" });
		setTimeout(retry, RETRY_MS);
	},
});

/** Fetched ahead; a failure is told when the thread is to be shown. */
export const fetchThread = () => loadThread().catch(() => {});
