/**
 * Turns an answer's markdown into HTML, block by block, so that of a growing answer only the end is parsed and rendered
 * again. Raw HTML is shown as text, links open in a new tab, images of other hosts become links. This is the first of two
 * defences: sanitize.ts is the second, and everything passes both.
 */
import { Marked, type RendererObject, type Token, type TokenizerAndRendererExtension, type Tokens } from "marked";
import { t } from "../i18n/index.ts";
import { escapeHtml } from "./values.ts";

const SAFE_LINK = /^(https?:\/\/|mailto:|\/(?![/\\])|#)/i;
/** Stored files only: the URL of an image must never call a method of the site. */
const SAFE_IMAGE = /^\/(files|private\/files|assets)\/[^\\]*$/;

/** Loaded only when an answer needs it; see richText.ts. Both return HTML. */
export interface RichText {
	/** null for an unknown language */
	highlight: (code: string, language: string) => string | null;
	renderMath: (tex: string, isDisplay: boolean) => string;
}

/** Longer diagrams stay code: their layout would block the page. */
const MAX_DIAGRAM_CHARS = 10_000;
/** Syntax by which a diagram could load something: URLs, CSS, images, escapes, its own settings. */
const LOADS = /\/\/|url\s*\(|@import|\bimg["']?\s*:|\\|%%\{|^\s*---/i;

/** Whether a Mermaid diagram is drawn. One with a URL is shown as code: an answer must not load anything. */
export const isDrawable = (source: string) => source.length <= MAX_DIAGRAM_CHARS && !LOADS.test(source);

export function isSafeLink(href: string): boolean {
	return SAFE_LINK.test(String(href).trim());
}

export function isSafeImage(src: string): boolean {
	return SAFE_IMAGE.test(String(src).trim()) && !/(^|\/)(\.|%2e){2}(\/|$)/i.test(src);
}

function anchor(href: string, html: string, title?: string | null): string {
	const hint = title ? ` title="${escapeHtml(title)}"` : "";
	return `<a href="${escapeHtml(href)}"${hint} target="_blank" rel="noopener noreferrer">${html}</a>`;
}

const createRenderer = (rich: RichText | null): RendererObject => ({
	html({ text }) {
		return escapeHtml(text);
	},
	link({ href, title, tokens }) {
		const inner = this.parser.parseInline(tokens);
		return isSafeLink(href) ? anchor(href, inner, title) : inner;
	},
	image({ href, title, text }) {
		const name = text || title || href;
		if (isSafeImage(href)) return `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}" loading="lazy">`;
		return isSafeLink(href)
			? anchor(href, escapeHtml(t("markdown.image", { name })), title)
			: escapeHtml(name);
	},
	code({ text, lang }) {
		const language = escapeHtml((lang || "").split(/\s/)[0]);
		const copy = `<button type="button" data-copy>${escapeHtml(t("action.copy"))}</button>`;
		const bar = `<div class="code-bar"><span>${language || escapeHtml(t("markdown.code"))}</span>${copy}</div>`;
		const html = (language && rich?.highlight(text, language)) || escapeHtml(text);
		return `<div class="code">${bar}<pre tabindex="0" dir="ltr"><code>${html}</code></pre></div>\n`;
	},
	checkbox({ checked }) {
		const label = escapeHtml(t(checked ? "markdown.task.done" : "markdown.task.open"));
		return `<span class="task" role="img" aria-label="${label}">${checked ? "☑" : "☐"}</span> `;
	},
	table({ header, rows }) {
		const cells = (list: Tokens.TableCell[], tag: string) => list.map((cell) => cellHtml(this.parser, cell, tag)).join("");
		const body = rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("");
		const table = `<table><thead><tr>${cells(header, "th")}</tr></thead><tbody>${body}</tbody></table>`;
		const save = `<button type="button" data-csv>${escapeHtml(t("action.download_csv"))}</button>`;
		return `<div class="table-block"><div class="table-scroll" tabindex="0">${table}</div>${save}</div>\n`;
	},
});

/** `$…$` is a formula only if its signs touch it and no digit follows: "from $5 to $10" is money. */
const INLINE_MATH = /^(?:\\\((.+?)\\\)|\$(?![\s$])((?:\\.|[^\\$\n])*?[^\s\\$])\$(?![\d$]))/;
/** No blank lines, so that in a growing text a formula stays within one block. */
const BLOCK_MATH = /^(?:\$\$((?:(?!\n\s*\n)[\s\S])+?)\$\$|\\\[((?:(?!\n\s*\n)[\s\S])+?)\\\])[^\S\n]*(?:\n|$)/;
/** Marked ends a paragraph where a block may start. */
const MATH_STARTS = { blockMath: /(?<=\n)(?:\$\$|\\\[)/, inlineMath: /\$|\\\(/ };

/** A formula of one kind; plain text until the formula renderer has loaded. */
function mathExtension(rich: RichText | null, isDisplay: boolean): TokenizerAndRendererExtension {
	const name = isDisplay ? "blockMath" : "inlineMath";
	return {
		name,
		level: isDisplay ? "block" : "inline",
		start: (source) => source.match(MATH_STARTS[name])?.index,
		tokenizer(source) {
			const found = (isDisplay ? BLOCK_MATH : INLINE_MATH).exec(source);
			return found ? { type: name, raw: found[0], text: (found[1] ?? found[2]).trim() } : undefined;
		},
		renderer: ({ raw, text }) => rich?.renderMath(text, isDisplay) ?? `<code>${escapeHtml(raw.trim())}</code>`,
	};
}

function cellHtml(parser: { parseInline: (tokens: Token[]) => string }, cell: Tokens.TableCell, tag: string): string {
	const align = cell.align ? ` align="${cell.align}"` : "";
	return `<${tag}${align}>${parser.parseInline(cell.tokens)}</${tag}>`;
}

const createMarked = (rich: RichText | null) =>
	new Marked({
		gfm: true,
		breaks: true,
		renderer: createRenderer(rich),
		extensions: [mathExtension(rich, true), mathExtension(rich, false)],
	});

const PLAIN = createMarked(null);
/** Whether a text may contain code in a language, or a formula. */
export const needsRichText = (text: string) => /```\s*\w|~~~\s*\w|\$[^$]+\$|\\[([]/.test(text);

/**
 * The number of blocks at the end that may still change as a text grows: `1` becomes `1.` and belongs to the list before
 * it.
 */
const OPEN_BLOCKS = 2;

/** The cache between two renderings of one growing text. `html`: a block's raw markdown -> its finished HTML. */
interface MarkdownCache {
	html: Map<string, string>;
	text: string;
	end: number;
	blocks: Block[];
	hasReferences: boolean;
	marked: Marked;
}

export interface Block {
	type: string;
	html: string;
	/** Its offset in the text. */
	start: number;
	/** The source of a Mermaid diagram; `html` shows it as code. */
	diagram?: string;
}

export function newCache(rich: RichText | null = null): MarkdownCache {
	const marked = rich ? createMarked(rich) : PLAIN;
	return { html: new Map(), text: "", end: 0, blocks: [], hasReferences: false, marked };
}

type Sanitize = (html: string) => string;

/** `cache` belongs to the caller: of a text that has grown, only the end is parsed. */
export function toBlocks(text: string, sanitize: Sanitize, cache = newCache()): Block[] {
	const whole = (text || "").replace(/\r\n?/g, "\n");
	// A reference may be defined anywhere, so a text with references is parsed as a whole.
	const isGrown = cache.end && !cache.hasReferences && whole.startsWith(cache.text);
	const start = isGrown ? cache.end : 0;
	const tokens = cache.marked.lexer(whole.slice(start));
	const hasReferences = Object.keys(tokens.links).length > 0;
	Object.assign(cache, { text: whole, hasReferences });
	if (isGrown && hasReferences) return toBlocks(whole, sanitize, cache);

	const blocks = isGrown ? cache.blocks.slice() : [];
	const references = JSON.stringify(tokens.links);
	let place = start;
	for (const token of tokens) {
		if (token.type !== "space" && token.type !== "def") blocks.push(toBlock(token, references, sanitize, cache, place));
		place += token.raw.length;
	}
	cache.blocks = blocks.slice(0, -OPEN_BLOCKS);
	cache.end = blocks.at(-OPEN_BLOCKS)?.start ?? 0;
	return blocks;
}

function toBlock(token: Token, references: string, sanitize: Sanitize, cache: MarkdownCache, start: number): Block {
	const key = `${references}:${token.raw}`;
	if (!cache.html.has(key)) cache.html.set(key, sanitize(cache.marked.parser([token])));
	const block: Block = { type: token.type, html: cache.html.get(key)!, start };
	const isDiagram = token.type === "code" && token.lang === "mermaid" && isDrawable(token.text);
	return isDiagram ? { ...block, diagram: token.text } : block;
}
