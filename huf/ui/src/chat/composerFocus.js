/** Brings the cursor to the composer from anywhere. With a touch screen it stays away, since a keyboard would jump up. */
import { nextTick } from "vue";

const hasMouse = matchMedia("(pointer: fine)").matches;
/** Inside another page the cursor stays where that one has it. */
const isFramed = window !== window.parent;
let field = null;

export function registerComposer(element) {
	field = element;
}

export async function focusComposer() {
	await nextTick();
	if (hasMouse && !isFramed) field?.focus();
}
