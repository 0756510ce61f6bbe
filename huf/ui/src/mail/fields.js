/** The fields of the forms about mail, in their order. `type`: text, area, number, check, choice, link, password. */
const SECURITY = ["SSL/TLS", "STARTTLS", "None"];

export const RULE_FIELDS = [
	{ name: "rule_name", isNeeded: true, isName: true },
	{ name: "position", type: "number" },
	{ name: "match_all", type: "check" },
	{ name: "sender_email" },
	{ name: "sender_domain" },
	{ name: "subject_contains" },
	{ name: "forwarded_from" },
	{ name: "header_match", type: "area" },
	{ name: "route", type: "choice", choices: ["pipeline", "agent"] },
	{ name: "profile", type: "link", doctype: "Agent", isFor: (values) => values.route === "agent" },
	{ name: "preprocessor" },
	{ name: "disabled", type: "check" },
];

export const MAILBOX_FIELDS = [
	{ name: "mailbox_name", isNeeded: true, isName: true },
	{ name: "email", isNeeded: true },
	{ name: "run_as", type: "link", doctype: "User", isNeeded: true },
	{ name: "take", type: "choice", choices: ["New mail only", "All of the inbox"] },
	{ name: "imap_host" },
	{ name: "imap_port", type: "number" },
	{ name: "imap_security", type: "choice", choices: SECURITY },
	{ name: "imap_user" },
	{ name: "imap_password", type: "password" },
	{ name: "sent_folder" },
	{ name: "smtp_host" },
	{ name: "smtp_port", type: "number" },
	{ name: "smtp_security", type: "choice", choices: SECURITY },
	{ name: "smtp_user" },
	{ name: "smtp_password", type: "password" },
	{ name: "sender_name" },
	{ name: "enabled", type: "check" },
];

export const KINDS = {
	rules: {
		doctype: "Agent Route Rule",
		fields: RULE_FIELDS,
		blank: { route: "pipeline", position: 10 },
	},
	mailboxes: {
		doctype: "Agent Mailbox",
		fields: MAILBOX_FIELDS,
		blank: {
			take: "New mail only",
			imap_port: 993,
			imap_security: "SSL/TLS",
			smtp_port: 587,
			smtp_security: "STARTTLS",
			enabled: 1,
		},
	},
};
