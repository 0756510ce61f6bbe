/**
 * Vite plugin. Building: writes the page as the Jinja template www/huf.html instead of an index.html among the assets.
 * It also compresses the assets.
 * Developing: fills the boot placeholder from a running site, reached through the dev server's proxy.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import zlib from "node:zlib";

const PLACEHOLDER = "{{ boot | tojson }}";
/** The fonts travel with the page, so their licence does too. */
const FONT_LICENSE = path.resolve(import.meta.dirname, "../node_modules/@fontsource-variable/geist/LICENSE");
const TEXT = /\.(js|css|md|svg)$/;
const MIN_COMPRESSED_BYTES = 1024;
const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);
const JINJA_MARK = /\{\{|\{%|\{#/;

export function hufPage({ output }) {
	let page = null;
	return {
		name: "huf-page",
		enforce: "post",
		transformIndexHtml: {
			order: "post",
			handler: (html, { server, bundle }) =>
				server
					? html.replace(PLACEHOLDER, "{}").replace("</head>", `<script>${DEV_BOOT}</script></head>`)
					: preloadFont(html, bundle),
		},
		generateBundle(_, bundle) {
			const entry = bundle["index.html"];
			if (!entry) return;
			page = String(entry.source);
			delete bundle["index.html"];
			if (!page.includes(PLACEHOLDER) || JINJA_MARK.test(page.replace(PLACEHOLDER, ""))) {
				this.error("index.html must hold the boot placeholder and nothing else that Jinja would read");
			}
		},
		async buildStart() {
			if (this.meta.watchMode) return;
			const source = await readFile(FONT_LICENSE, "utf8");
			this.emitFile({ type: "asset", fileName: "font-license.txt", source });
		},
		async writeBundle({ dir }, bundle) {
			if (page === null) return;
			await mkdir(path.dirname(output), { recursive: true });
			await writeFile(output, page);
			await Promise.all(Object.keys(bundle).filter((name) => TEXT.test(name)).map((name) => compress(path.join(dir, name))));
		},
	};
}

/** Writes FILE.br and FILE.gz; the server sends the one that a browser accepts. */
async function compress(file) {
	const content = await readFile(file);
	if (content.length < MIN_COMPRESSED_BYTES) return;
	await Promise.all([writeFile(`${file}.br`, await brotli(content)), writeFile(`${file}.gz`, await gzip(content, { level: 9 }))]);
}

/** The one font file every first page needs is asked for with the page, not after its style sheet. */
function preloadFont(html, bundle) {
	const font = Object.keys(bundle || {}).find((name) => /geist-latin-wght-normal.*\.woff2$/.test(name));
	if (!font) return html;
	const href = `/assets/huf/frontend/${font}`;
	return html.replace(
		"</title>",
		`</title>\n\t\t<link rel="preload" href="${href}" as="font" type="font/woff2" crossorigin />`,
	);
}

/** Runs in the browser while developing: takes the boot data out of the page that the site itself serves. */
const DEV_BOOT = `(() => {
	const request = new XMLHttpRequest();
	request.open("GET", "/__huf_page", false);
	request.send();
	const page = new DOMParser().parseFromString(request.responseText, "text/html");
	const found = page.getElementById("huf-boot");
	if (!found) location.href = "/login?redirect-to=" + encodeURIComponent(location.pathname);
	else document.getElementById("huf-boot").textContent = found.textContent;
})()`;
