/** Focuses the composer from anywhere, except on touch screens, where a keyboard would appear. */
import { nextTick } from "vue";

const hasMouse = matchMedia("(pointer: fine)").matches;
/** Inside another page, that page keeps the focus. */
const isFramed = window !== window.parent;
let field: HTMLElement | null = null;

export function registerComposer(element: HTMLElement | null): void {
	field = element;
}

export async function focusComposer(): Promise<void> {
	await nextTick();
	if (hasMouse && !isFramed) field?.focus();
}
