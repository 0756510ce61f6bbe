/**
 * Loads the markdown renderer when the user begins to write or an answer is shown. Without it, answers are shown as plain
 * text.
 */
import { shallowRef } from "vue";
import type { Block, RichText } from "../lib/markdown.ts";

/** The highlighter and formula renderer, loaded when an answer first needs them. */
export const richText = shallowRef<RichText | null>(null);

/** () -> a function (text) -> blocks for one text as it grows, or null while it is not loaded */
export const createRenderer = shallowRef<(() => (text: string) => Block[]) | null>(null);

let loading: Promise<unknown> | null = null;
let loadingRich: Promise<unknown> | null = null;

export function loadMarkdown(): Promise<unknown> {
	loading ||= Promise.all([import("../lib/markdown.ts"), import("../lib/sanitize.ts")])
		.then(
			([{ toBlocks, newCache, needsRichText }, { sanitize }]) =>
				(createRenderer.value = () => {
					const cache = newCache(richText.value);
					return (text: string) => {
						if (!richText.value && needsRichText(text)) loadRichText();
						return toBlocks(text, sanitize, cache);
					};
				}),
		)
		.catch(() => (loading = null));
	return loading;
}

/** If it cannot be loaded, code and formulas stay plain text. */
function loadRichText(): void {
	loadingRich ||= import("../lib/richText.ts")
		.then((loaded) => (richText.value = loaded.richText))
		.catch(() => (loadingRich = null));
}
