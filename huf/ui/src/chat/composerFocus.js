/** Focuses the composer from anywhere, except on touch screens, where a keyboard would appear. */
import { nextTick } from "vue";

const hasMouse = matchMedia("(pointer: fine)").matches;
/** Inside another page, that page keeps the focus. */
const isFramed = window !== window.parent;
let field = null;

export function registerComposer(element) {
	field = element;
}

export async function focusComposer() {
	await nextTick();
	if (hasMouse && !isFramed) field?.focus();
}
