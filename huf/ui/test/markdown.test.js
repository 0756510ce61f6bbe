import assert from "node:assert/strict";
import { test } from "node:test";
import { isSafeImage, isSafeLink, newCache, toBlocks } from "../src/lib/markdown.ts";
import { richText } from "../src/lib/richText.ts";

const html = (text) =>
	toBlocks(text, (made) => made)
		.map((block) => block.html)
		.join("");

test("raw HTML is shown as text", () => {
	assert.doesNotMatch(html("<script>alert(1)</script>\n\nhi <img src=x onerror=alert(1)>"), /<(script|img)/);
});

test("links open in a new tab without referrer", () => {
	assert.match(
		html("[a](https://example.com)"),
		/href="https:\/\/example.com" target="_blank" rel="noopener noreferrer"/,
	);
});

test("addresses that run code are not links", () => {
	for (const bad of [
		"javascript:alert(1)",
		"JAVASCRIPT:alert(1)",
		"data:text/html,x",
		"//evil.example",
		"/\\evil.example",
	]) {
		assert.equal(isSafeLink(bad), false, bad);
		assert.doesNotMatch(html(`[a](<${bad}>)`), /<a/);
	}
});

test("images of other hosts become links", () => {
	const made = html("![map](https://tracker.example/p.gif)");
	assert.doesNotMatch(made, /<img/);
	assert.match(made, /<a href="https:\/\/tracker.example\/p.gif".*map/);
});

test("only stored files are shown as images: no address may call a method of the site", () => {
	assert.match(html("![a](/files/a.png)"), /<img src="\/files\/a.png"/);
	for (const bad of [
		"/api/method/logout",
		"/files/../api/method/logout",
		"/files/%2e%2e/api/x",
		"//x/files/a.png",
	]) {
		assert.equal(isSafeImage(bad), false, bad);
	}
});

test("an attribute cannot be closed from inside an address or a title", () => {
	assert.doesNotMatch(
		html('[a](/x"onmouseover=alert(1) "t\\" onclick=alert(1)")'),
		/"\s*on(mouseover|click)=/,
	);
});

test("code keeps its text, is escaped and can be copied", () => {
	const made = html("```js\nif (a < b) {}\n```");
	assert.match(made, /<code>if \(a &lt; b\) \{\}<\/code>/);
	assert.match(made, /data-copy/);
});

test("tables scroll in their own box", () => {
	assert.match(html("|a|b|\n|-|-:|\n|1|2|"), /<div class="table-scroll".*<td align="right">2<\/td>.*data-csv/);
});

test("a growing answer renders finished blocks once", () => {
	const cache = newCache();
	const made = [];
	const sanitize = (part) => (made.push(part), part);
	toBlocks("First.\n\nSec", sanitize, cache);
	toBlocks("First.\n\nSecond.", sanitize, cache);
	assert.equal(made.filter((part) => part.includes("First.")).length, 1);
});

const GROWING = `# One

1. first
2. second

   still the second

3. third
- a

- b

  - c

| a | b |
|---|---|
| 1 | 2 |

> quoted
goes on

\`\`\`js
const x = 1;

\`\`\`

Words with [a link][home] and more.\r\nTitle
===

    code

* * *

[home]: https://example.com
`;

test("whatever the pieces it comes in, a grown text looks as it does when it is read at once", () => {
	const sanitize = (part) => part;
	const look = (blocks) => blocks.map(({ type, html: made }) => type + made).join("");
	for (const size of [1, 2, 3, 7, 40]) {
		const cache = newCache();
		for (let end = 0; end < GROWING.length + size; end += size) {
			const text = GROWING.slice(0, end);
			assert.equal(look(toBlocks(text, sanitize, cache)), look(toBlocks(text, sanitize)), JSON.stringify(text.slice(-30)));
		}
	}
});

test("of a long text that grows only the end is read again", () => {
	const cache = newCache();
	const text = "A paragraph.\n\n".repeat(500);
	toBlocks(text, (part) => part, cache);
	assert.ok(cache.end > text.length - 100);
	assert.equal(toBlocks(`${text}One more.`, (part) => part, cache).length, 501);
});

const rich = (text) =>
	toBlocks(text, (made) => made, newCache(richText))
		.map((block) => block.html)
		.join("");

test("task lists say whether a task is done, without a form field", () => {
	const made = html("- [x] Call Anna\n- [ ] Order toner");
	assert.doesNotMatch(made, /<input/);
	assert.match(made, /role="img" aria-label="[^"]+">☑<\/span> Call Anna/);
	assert.match(made, />☐<\/span> Order toner/);
});

test("code is coloured in a language that is known, and escaped in any", () => {
	assert.match(rich("```python\nreturn '<b>'\n```"), /hljs-keyword">return<\/span> <span class="hljs-string">&#x27;&lt;b&gt;/);
	for (const language of ["", "nosuch", "<script>"]) {
		assert.match(rich(`\`\`\`${language}\n<b>\n\`\`\``), /<code>&lt;b&gt;<\/code>/, language);
	}
	assert.doesNotMatch(html("```python\nreturn 1\n```"), /hljs/);
});

test("formulas become MathML, and are shown as written until their renderer is there", () => {
	for (const text of ["so $a^2$ is", "so \\(a^2\\) is"]) {
		assert.match(rich(text), /<math[\s\S]*<msup>/, text);
		assert.match(html(text), /<code>.*a\^2.*<\/code>/, text);
	}
	for (const text of ["$$\n\\frac{1}{2}\n$$", "\\[\\frac{1}{2}\\]"]) assert.match(rich(text), /display="block"[\s\S]*<mfrac>/, text);
	assert.doesNotMatch(rich("$a$"), /annotation|href/);
	assert.match(rich("$\\href{javascript:alert(1)}{x}$"), /<math/);
	assert.doesNotMatch(rich("$\\href{javascript:alert(1)}{x}$"), /href="/);
});

test("amounts of money are not formulas", () => {
	for (const text of ["from $5 to $10", "$ 5 and 6$", "costs $3, or $4", "`$a$`", "US$5 and US$7"]) {
		assert.doesNotMatch(rich(text), /<math/, text);
	}
});

test("a growing text is read the same in pieces as at once, also with formulas and code", () => {
	const text = "Given $x$:\n\n$$\ny = x^2\n$$\n\n```js\nconst a = 1;\n```\n\n- [x] done\n";
	const cache = newCache(richText);
	let blocks = [];
	for (let end = 1; end <= text.length; end++) blocks = toBlocks(text.slice(0, end), (made) => made, cache);
	assert.equal(blocks.map((block) => block.html).join(""), rich(text));
});

test("a diagram is drawn only if it can load nothing", () => {
	const diagramOf = (source) => toBlocks("```mermaid\n" + source + "\n```\n\nEnd", (html) => html)[0].diagram;
	assert.equal(diagramOf("flowchart LR\n  A --> B\n  B --- C"), "flowchart LR\n  A --> B\n  B --- C");
	for (const line of [
		'A@{ img: "x.png" }',
		"A[https://evil.example]",
		"style A filter:url(x)",
		"style A filter:u\\72l(x)",
		"%%{init: {}}%%",
	])
		assert.equal(diagramOf(`flowchart LR\n  ${line}`), undefined, line);
	assert.equal(diagramOf("---\nconfig: {}\n---\nflowchart LR"), undefined);
	assert.equal(diagramOf("flowchart LR\n" + "A --> B\n".repeat(2000)), undefined);
});
