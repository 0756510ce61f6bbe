/** Who is signed in and where: the boot data that the page was served with. Read once, never changed. */

export const boot = Object.freeze({
	csrf_token: "",
	user: "",
	full_name: "",
	site_name: "",
	time_zone: null,
	lang: "",
	/** What can be attached to a message; see huf/ai/attachments.py. */
	attachments: {},
	is_manager: false,
	is_system_manager: false,
	...globalThis.huf_boot,
});

export function signInAddress() {
	return `/login?redirect-to=${encodeURIComponent(location.pathname + location.search)}`;
}
