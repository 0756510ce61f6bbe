/** The app's main sections as the sidebar lists them, and who sees them. */
import { boot } from "../state/session.js";

const ALL = [
	{ name: "chat", icon: "chat", label: "section.chat" },
	{ name: "runs", icon: "pulse", label: "section.runs" },
	{ name: "triggers", icon: "bolt", label: "section.triggers", isForManagers: true },
	{ name: "mail", icon: "inbox", label: "section.mail", isForManagers: true },
];

export const SECTIONS = ALL.filter((section) => boot.is_manager || !section.isForManagers);
