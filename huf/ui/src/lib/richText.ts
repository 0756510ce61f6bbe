/** Colours code and sets formulas. Large, so it is loaded when the first answer needs it. */
import hljs from "highlight.js/lib/common";
import katex from "katex";
import type { RichText } from "./markdown.ts";

/** Longer code stays plain: colouring it again for each piece of a growing answer would hold up the page. */
const MAX_CODE_CHARS = 20_000;
/** MathML needs no styles or fonts. TeX may neither load anything nor define what never ends. */
const MATH = { output: "mathml", throwOnError: false, trust: false, maxExpand: 200, strict: "ignore" } as const;
/** The source of a formula, which the sanitizer would leave as text. */
const ANNOTATION = /<annotation[\s\S]*?<\/annotation>/g;

export const richText: RichText = {
	highlight(code, language) {
		if (code.length > MAX_CODE_CHARS || !hljs.getLanguage(language)) return null;
		return hljs.highlight(code, { language, ignoreIllegals: true }).value;
	},
	renderMath(tex, isDisplay) {
		return katex.renderToString(tex, { ...MATH, displayMode: isDisplay }).replace(ANNOTATION, "");
	},
};
