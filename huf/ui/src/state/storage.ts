/** Values stored in this browser for the signed-in user. Storage may be full or disabled; then nothing is remembered. */
import { boot } from "./session.ts";

const PREFIX = "huf:";
const OWN = `${PREFIX}${boot.user}:`;

export function remember(name: string, value: string | null): void {
	try {
		if (value === null || value === "") localStorage.removeItem(OWN + name);
		else localStorage.setItem(OWN + name, value);
	} catch {
		// Private windows may refuse storage; the page works without it.
	}
}

export function recall(name: string): string {
	try {
		return localStorage.getItem(OWN + name) || "";
	} catch {
		return "";
	}
}

/** Signing out deletes unsent texts: the next user of this browser must not find them. */
export function forgetAll() {
	try {
		Object.keys(localStorage)
			.filter((key) => key.startsWith(OWN))
			.forEach((key) => localStorage.removeItem(key));
	} catch {
		// See remember().
	}
}
