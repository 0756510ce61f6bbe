/** Loads messages and their renderer when the user begins to write or opens a conversation. */
import { defineAsyncComponent } from "vue";
import { loadMarkdown } from "../components/markdownLoader.ts";
import { t } from "../i18n/index.ts";
import { showError } from "../state/notices.ts";

const RETRY_MS = 3_000;
const MAX_RETRY_MS = 60_000;

let loading: Promise<typeof import("./ChatThread.vue")> | null = null;

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
	 * A message just sent is shown, with its error, once the site can be reached. After an update of the site the file no
	 * longer exists, so the delays grow.
	 */
	onError(error, retry, fail, attempts) {
		if (attempts === 1) showError({ message: t("error.page"), kind: "stale" });
		setTimeout(retry, Math.min(attempts * RETRY_MS, MAX_RETRY_MS));
	},
});

/** Preloaded; a failure is reported when the thread is shown. */
export const fetchThread = () => loadThread().catch(() => {});
