/**
 * Fetches the markdown renderer beside the first page instead of with it. Until it is there (or if it cannot be had), answers
 * are shown as the plain text they are.
 */
import { shallowRef } from "vue";

/** () -> a function (text) -> blocks for one text as it grows, or null while it is not loaded */
export const createRenderer = shallowRef(null);

let loading = null;

export function loadMarkdown() {
	loading ||= Promise.all([import("../lib/markdown.ts"), import("../lib/sanitize.js")])
		.then(
			([{ toBlocks, newCache }, { sanitize }]) =>
				(createRenderer.value = () => {
					const cache = newCache();
					return (text) => toBlocks(text, sanitize, cache);
				}),
		)
		.catch(() => (loading = null));
	return loading;
}
