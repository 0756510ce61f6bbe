/**
 * Fetches the markdown renderer beside the first page instead of with it. Until it is there (or if it cannot be had), answers
 * are shown as the plain text they are.
 */
import { shallowRef } from "vue";

/** (text, cache) -> blocks, or null while it is not loaded */
export const renderBlocks = shallowRef(null);

let loading = null;

export function loadMarkdown() {
	loading ||= Promise.all([import("../lib/markdown.js"), import("../lib/sanitize.js")])
		.then(
			([{ toBlocks }, { sanitize }]) =>
				(renderBlocks.value = (text, cache) => toBlocks(text, sanitize, cache)),
		)
		.catch(() => (loading = null));
	return loading;
}
