/** After a form was refused: the cursor goes to the first field that has to be looked at. */
import { nextTick } from "vue";

export async function focusInvalid() {
	await nextTick();
	document.querySelector("main [aria-invalid='true']")?.focus();
}
