/** After a form was refused, focuses the first invalid field. */
import { nextTick } from "vue";

export async function focusInvalid() {
	await nextTick();
	document.querySelector("main [aria-invalid='true']")?.focus();
}
