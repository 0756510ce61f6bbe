/** The app's main sections as the sidebar lists them, who sees them, and how many things wait there. */
import { waiting } from "../state/drafts.js";
import { boot } from "../state/session.js";

const ALL = [
	{ name: "home", icon: "home", label: "section.home" },
	{ name: "chat", icon: "chat", label: "section.chat" },
	{ name: "drafts", icon: "inbox", label: "section.drafts", count: () => waiting.count },
	{ name: "runs", icon: "pulse", label: "section.runs" },
	{ name: "agents", icon: "spark", label: "section.agents", isForManagers: true },
	{ name: "knowledge", icon: "book", label: "section.knowledge" },
	{ name: "triggers", icon: "bolt", label: "section.triggers", isForManagers: true },
	{ name: "mail", icon: "mail", label: "section.mail", isForManagers: true },
	{ name: "packs", icon: "box", label: "section.packs", isForManagers: true },
	{ name: "tools", icon: "wrench", label: "section.tools", isForManagers: true },
	{ name: "models", icon: "signal", label: "section.models", isForManagers: true },
	{ name: "records", to: "doctypes", icon: "table", label: "section.records" },
	{ name: "settings", icon: "sliders", label: "section.settings", isForManagers: true },
];

export const SECTIONS = ALL.filter((section) => boot.is_manager || !section.isForManagers);
