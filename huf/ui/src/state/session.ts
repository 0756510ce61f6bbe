/** The boot data that the page was served with: user and site. Read once, never changed. */

import type { Limits } from "../lib/attachments.ts";

interface Boot {
	csrf_token: string;
	user: string;
	full_name: string;
	site_name: string;
	/** An IANA name; null: the reader's own. */
	time_zone: string | null;
	lang: string;
	/** Limits of attachments. */
	attachments: Partial<Limits>;
	is_manager: boolean;
	has_mail: boolean;
	is_system_manager: boolean;
}

const data = globalThis.document?.getElementById("huf-boot")?.textContent;

export const boot: Readonly<Boot> = Object.freeze({
	csrf_token: "",
	user: "",
	full_name: "",
	site_name: "",
	time_zone: null,
	lang: "",
	attachments: {},
	is_manager: false,
	has_mail: false,
	is_system_manager: false,
	...((data ? JSON.parse(data) : {}) as Partial<Boot>),
});

export function signInAddress() {
	return `/login?redirect-to=${encodeURIComponent(location.pathname + location.search)}`;
}
