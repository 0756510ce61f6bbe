/**
 * Fetches the markdown renderer when someone begins to write or an answer is shown. Until it is there (or if it cannot be
 * had), answers are shown as the plain text they are.
 */
import { shallowRef } from "vue";

/** What colours code and sets formulas, once an answer has needed it. */
export const richText = shallowRef(null);

/** () -> a function (text) -> blocks for one text as it grows, or null while it is not loaded */
export const createRenderer = shallowRef(null);

let loading = null;
let loadingRich = null;

export function loadMarkdown() {
	loading ||= Promise.all([import("../lib/markdown.ts"), import("../lib/sanitize.js")])
		.then(
			([{ toBlocks, newCache, needsRichText }, { sanitize }]) =>
				(createRenderer.value = () => {
					const cache = newCache(richText.value);
					return (text) => {
						if (!richText.value && needsRichText(text)) loadRichText();
						return toBlocks(text, sanitize, cache);
					};
				}),
		)
		.catch(() => (loading = null));
	return loading;
}

/** Where it cannot be had, code and formulas stay as they were written. */
function loadRichText() {
	loadingRich ||= import("../lib/richText.ts")
		.then((loaded) => (richText.value = loaded.richText))
		.catch(() => (loadingRich = null));
}
