/** Servers of mail providers, and whether they accept app passwords or require OAuth. */
import type { Values } from "../api/types/records.ts";

const on = (imap: string, smtp: string, isTls = true, isOAuth = false) => ({
	auth_method: isOAuth ? "OAuth" : "Password",
	imap_host: imap,
	imap_port: 993,
	imap_security: "SSL/TLS",
	smtp_host: smtp,
	smtp_port: isTls ? 465 : 587,
	smtp_security: isTls ? "SSL/TLS" : "STARTTLS",
});

export const PRESETS: Record<string, ReturnType<typeof on>> = {
	Gmail: on("imap.gmail.com", "smtp.gmail.com"),
	Fastmail: on("imap.fastmail.com", "smtp.fastmail.com"),
	iCloud: on("imap.mail.me.com", "smtp.mail.me.com", false),
	"Microsoft 365": on("outlook.office365.com", "smtp.office365.com", false, true),
};

/** The provider of a mailbox's servers; "": none of these. */
export const presetOf = (values: Values): string => Object.keys(PRESETS).find((name) => PRESETS[name].imap_host === values.imap_host) || "";
