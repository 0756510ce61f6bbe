/**
 * Every page has its own address under /huf. A route names its view and optionally the lower part of the sidebar; a new page
 * is one more line here and, if people should find it, one in layout/sections.js.
 */
import { createRouter, createWebHistory } from "vue-router";
import ChatHistory from "./chat/ChatHistory.vue";
import ChatPage from "./chat/ChatPage.vue";
import { t } from "./i18n/index.ts";
import { showError } from "./state/notices.ts";

const MissingPage = () => import("./components/MissingPage.vue");

/** A page that is fetched when it is first opened. `section` is its entry in the sidebar. */
const page = (path, name, section, component, meta = {}) => ({ path, name, component, meta: { section, ...meta } });

/** The page of a record whose DocType has a list of its own. */
const record = (path, name, section, doctype) =>
	page(path, name, section, () => import("./records/RecordPage.vue"), { doctype, list: section });

export const routes = [
	page("/", "home", "home", () => import("./home/HomePage.vue")),
	{
		path: "/chat/:conversation?",
		name: "chat",
		components: { default: ChatPage, sidebar: ChatHistory },
		meta: { section: "chat" },
	},
	page("/runs", "runs", "runs", () => import("./runs/RunsPage.vue")),
	page("/runs/:name", "run", "runs", () => import("./runs/RunPage.vue")),
	page("/runs/:name/compare/:other", "compare", "runs", () => import("./runs/ComparePage.vue")),
	page("/costs", "costs", "costs", () => import("./costs/CostsPage.vue")),
	page("/drafts/:name?", "drafts", "drafts", () => import("./drafts/DraftsPage.vue")),
	page("/knowledge", "knowledge", "knowledge", () => import("./knowledge/KnowledgePage.vue")),
	page("/triggers", "triggers", "triggers", () => import("./triggers/TriggersPage.vue")),
	page("/new-trigger", "new-trigger", "triggers", () => import("./triggers/NewTriggerPage.vue")),
	page("/triggers/:name", "trigger", "triggers", () => import("./triggers/TriggerPage.vue")),
	page("/mail", "mail", "mail", () => import("./mail/MailsPage.vue")),
	page("/mail/:name", "mail-one", "mail", () => import("./mail/MailPage.vue")),
	page("/packs", "packs", "packs", () => import("./packs/PacksPage.vue")),
	page("/agents", "agents", "agents", () => import("./agents/AgentsPage.vue")),
	page("/new-agent", "new-agent", "agents", () => import("./agents/AgentPage.vue")),
	page("/import-agents", "import-agents", "agents", () => import("./agents/ImportAgentsPage.vue")),
	page("/agents/:name", "agent", "agents", () => import("./agents/AgentPage.vue")),
	page("/tools", "tools", "tools", () => import("./tools/ToolsPage.vue")),
	page("/new-tool", "new-tool", "tools", () => import("./tools/ToolPage.vue")),
	page("/import-tools", "import-tools", "tools", () => import("./tools/ImportToolsPage.vue")),
	page("/tools/:name", "tool", "tools", () => import("./tools/ToolPage.vue")),
	page("/models", "models", "models", () => import("./models/ModelsPage.vue")),
	page("/settings", "settings", "settings", () => import("./settings/SettingsPage.vue")),
	page("/programs", "programs", "settings", () => import("./settings/ProgramsPage.vue")),
	page("/people", "people", "people", () => import("./people/PeoplePage.vue")),
	page("/profile", "profile", "settings", () => import("./settings/ProfilePage.vue")),
	record("/models/:name", "model", "models", "AI Model"),
	record("/providers/:name", "provider", "models", "AI Provider"),
	page("/records", "doctypes", "records", () => import("./records/DoctypesPage.vue")),
	page("/records/:doctype", "records", "records", () => import("./records/RecordsPage.vue")),
	page("/new-record/:doctype", "new-record", "records", () => import("./records/RecordPage.vue")),
	page("/records/:doctype/:name", "record", "records", () => import("./records/RecordPage.vue")),
	page("/help/:page", "help", null, () => import("./help/HelpPage.vue")),
	{ path: "/:path(.*)*", name: "missing", component: MissingPage },
];

export const router = createRouter({ history: createWebHistory("/huf"), routes });

/** The embedding of a page (?embed=1) survives every step inside it. */
router.beforeEach((to, from) => {
	const { embed, test } = from.query;
	if (embed && !to.query.embed) return { ...to, query: { ...to.query, embed, test }, replace: true };
});

/** A page could not be fetched: the site cannot be reached, or has been renewed since this one was opened. */
router.onError((error) => {
	console.error(error);
	showError({ message: t("error.page"), kind: "stale" });
});
