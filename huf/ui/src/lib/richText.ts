/** Highlights code and renders formulas. Large, so it loads when an answer first needs it. */
import hljs from "highlight.js/lib/common";
import katex from "katex";
import type { RichText } from "./markdown.ts";

/** Longer code stays plain: highlighting it again for each piece of a growing answer would block the page. */
const MAX_CODE_CHARS = 20_000;
/** MathML needs no styles or fonts. TeX may neither load anything nor define endless macros. */
const MATH = { output: "mathml", throwOnError: false, trust: false, maxExpand: 200, strict: "ignore" } as const;
/** The source of a formula, which the sanitizer would keep as text. */
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
