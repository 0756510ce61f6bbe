/** The app's sections in the sidebar, and who sees them. */
import { boot } from "../state/session.ts";

const isSeen = (section) =>
	(boot.is_manager || !section.isForManagers) &&
	(boot.has_mail || section.name !== "mail") &&
	(boot.is_system_manager || !section.isForSystemManagers);

/** Sections of daily use. */
export const MAIN = [
	{ name: "home", icon: "home", label: "section.home" },
	{ name: "chat", icon: "chat", label: "section.chat" },
	{ name: "drafts", icon: "inbox", label: "section.drafts", isCounted: true },
	{ name: "runs", icon: "pulse", label: "section.runs" },
	{ name: "costs", icon: "coin", label: "section.costs" },
].filter(isSeen);

/** Sections for setup. */
export const SETUP = [
	{ name: "agents", icon: "spark", label: "section.agents", isForManagers: true },
	{ name: "triggers", icon: "bolt", label: "section.triggers", isForManagers: true },
	{ name: "mail", icon: "mail", label: "section.mail" },
	{ name: "knowledge", icon: "book", label: "section.knowledge" },
	{ name: "tools", icon: "wrench", label: "section.tools", isForManagers: true },
	{ name: "models", icon: "signal", label: "section.models", isForManagers: true },
	{ name: "packs", icon: "box", label: "section.packs", isForManagers: true },
	{ name: "records", to: "doctypes", icon: "table", label: "section.records" },
	{ name: "people", icon: "people", label: "section.people", isForSystemManagers: true },
	{ name: "settings", icon: "sliders", label: "section.settings", isForManagers: true },
].filter(isSeen);
