/**
 * Loads the markdown renderer when the user begins to write or an answer is shown. Without it, answers are shown as plain
 * text.
 */
import { shallowRef } from "vue";

/** The highlighter and formula renderer, loaded when an answer first needs them. */
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

/** If it cannot be loaded, code and formulas stay plain text. */
function loadRichText() {
	loadingRich ||= import("../lib/richText.ts")
		.then((loaded) => (richText.value = loaded.richText))
		.catch(() => (loadingRich = null));
}
