/** After a form was refused, focuses the first invalid field. */
import { nextTick } from "vue";

export async function focusInvalid(): Promise<void> {
	await nextTick();
	document.querySelector<HTMLElement>("main [aria-invalid='true']")?.focus();
}
