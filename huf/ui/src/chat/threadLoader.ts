/** Loads messages and their renderer when the user begins to write or opens a conversation. */
import { defineAsyncComponent } from "vue";
import { loadMarkdown } from "../components/markdownLoader.ts";
import ThreadFailure from "./ThreadFailure.vue";

function loadThread() {
	loadMarkdown();
	return import("./ChatThread.vue");
}

/** Browsers remember that a module could not be fetched, so only a reload tries again. */
export const ChatThread = defineAsyncComponent({ loader: loadThread, errorComponent: ThreadFailure });

/** Preloaded; a failure is reported when the thread is shown. */
export const fetchThread = () => loadThread().catch(() => {});
