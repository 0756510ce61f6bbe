/** The app's sections in the sidebar, and who sees them. */
import { boot } from "../state/session.ts";

interface SidebarSection {
	name: string;
	icon: string;
	/** The key of its text. */
	label: string;
	/** The route, if it has another name. */
	to?: string;
	isCounted?: boolean;
	isForManagers?: boolean;
	isForSystemManagers?: boolean;
}

const isSeen = (section: SidebarSection) =>
	(boot.is_manager || !section.isForManagers) &&
	(boot.has_mail || section.name !== "mail") &&
	(boot.is_system_manager || !section.isForSystemManagers);

/** Sections of daily use. */
const ALL_MAIN: SidebarSection[] = [
	{ name: "home", icon: "home", label: "section.home" },
	{ name: "chat", icon: "chat", label: "section.chat" },
	{ name: "drafts", icon: "inbox", label: "section.drafts", isCounted: true },
	{ name: "runs", icon: "pulse", label: "section.runs" },
	{ name: "costs", icon: "coin", label: "section.costs" },
];
export const MAIN = ALL_MAIN.filter(isSeen);

/** Sections for setup. */
const ALL_SETUP: SidebarSection[] = [
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
];
export const SETUP = ALL_SETUP.filter(isSeen);
