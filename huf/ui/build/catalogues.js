/**
 * Vite plugin. Compiles the texts of the catalogues as vue-i18n does in the browser, so that its message compiler need not be
 * sent there (`__INTLIFY_DROP_MESSAGE_COMPILER__`).
 */
import { baseCompile } from "@intlify/message-compiler";

const CATALOGUE = /\/i18n\/(first\/)?\w+\.json$/;
/** A text without any of these is shown as it is. */
const SYNTAX = /[{}|@]/;

export function catalogues() {
	return {
		name: "huf-catalogues",
		enforce: "pre",
		transform: (source, id) => (CATALOGUE.test(id) ? { code: JSON.stringify(compileCatalogue(JSON.parse(source))), map: null } : null),
	};
}

/** {area: {key: text}} -> the same, with a compiled message in place of each text that has values or plural forms. */
export function compileCatalogue(areas) {
	const compileArea = ([area, texts]) => [
		area,
		Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, compileText(text, `${area}.${key}`)])),
	];
	return Object.fromEntries(Object.entries(areas).map(compileArea));
}

function compileText(text, key) {
	if (!SYNTAX.test(text)) return text;
	const onError = (error) => {
		throw new Error(`The text ${key} does not compile: ${error.message}`);
	};
	return baseCompile(text, { jit: true, minify: true, mangle: true, location: false, onError }).ast;
}
