/** The list of triggers, kept while one of them is looked at. Switching shows at once and is taken back when refused. */
import * as api from "../api/triggers.js";
import { showError } from "./notices.js";
import { createPager } from "./loading.js";

export const triggers = createPager((_, start) => api.fetchTriggers(start), api.PAGE_LENGTH);

function patch(name, values) {
	triggers.items = triggers.items.map((item) => (item.name === name ? { ...item, ...values } : item));
}

/** -> whether the site has done it */
export async function setEnabled(name, isEnabled) {
	patch(name, { disabled: Number(!isEnabled) });
	try {
		patch(name, await api.setEnabled(name, isEnabled));
		return true;
	} catch (error) {
		patch(name, { disabled: Number(isEnabled) });
		showError(error);
		return false;
	}
}

export function forget(name) {
	triggers.items = triggers.items.filter((item) => item.name !== name);
}
