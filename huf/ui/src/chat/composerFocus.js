/** Brings the cursor to the composer from anywhere. With a touch screen it stays away, since a keyboard would jump up. */
import { nextTick } from "vue";

const hasMouse = matchMedia("(pointer: fine)").matches;
let field = null;

export function registerComposer(element) {
	field = element;
}

export async function focusComposer() {
	await nextTick();
	if (hasMouse) field?.focus();
}
