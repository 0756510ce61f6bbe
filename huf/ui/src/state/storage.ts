/** Values stored in this browser for the signed-in user. Storage may be full or disabled; then nothing is remembered. */
import { boot } from "./session.ts";

const PREFIX = "huf:";
const OWN = `${PREFIX}${boot.user}:`;

/** -> false if the value could not be stored and will be lost with the page */
export function remember(name: string, value: string | null): boolean {
	try {
		if (value === null || value === "") localStorage.removeItem(OWN + name);
		else localStorage.setItem(OWN + name, value);
		return true;
	} catch {
		// Private windows may refuse storage; the page works without it.
		return !value;
	}
}

export function recall(name: string): string {
	try {
		return localStorage.getItem(OWN + name) || "";
	} catch {
		return "";
	}
}

/** The names of the remembered values that begin so. */
export function namesOf(start: string): string[] {
	try {
		const keys = Object.keys(localStorage).filter((key) => key.startsWith(OWN + start));
		return keys.map((key) => key.slice(OWN.length));
	} catch {
		return [];
	}
}

/** Calls `react(name, before)` when another page of this user removes a value. Returns a function that ends it. */
export function onRemoved(react: (name: string, before: string) => void): () => void {
	const listen = ({ key, oldValue, newValue }: StorageEvent) => {
		if (key?.startsWith(OWN) && oldValue && newValue === null) react(key.slice(OWN.length), oldValue);
	};
	addEventListener("storage", listen);
	return () => removeEventListener("storage", listen);
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
