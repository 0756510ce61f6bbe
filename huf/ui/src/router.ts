/**
 * Every page has its own address under /huf. A route names its view and optionally the lower part of the sidebar; a new
 * page is one more line here and, if it belongs in the sidebar, one in layout/sections.ts.
 */
import type { Component } from "vue";
import { createRouter, createWebHistory, type RouteRecordRaw } from "vue-router";
import ChatHistory from "./chat/ChatHistory.vue";
import ChatPage from "./chat/ChatPage.vue";
import { later } from "./components/later.ts";

const MissingPage = later(() => import("./components/MissingPage.vue"));

/** A page that loads when it is first opened. `section` is its entry in the sidebar. */
const page = (path: string, name: string, section: string | null, component: Component, meta = {}) => ({ path, name, component, meta: { section, ...meta } });

/** The page of a record whose DocType has a list of its own. */
const record = (path: string, name: string, section: string, doctype: string) =>
	page(path, name, section, later(() => import("./records/RecordPage.vue")), { doctype, list: section });

export const routes: RouteRecordRaw[] = [
	page("/", "home", "home", later(() => import("./home/HomePage.vue"))),
	{
		path: "/chat/:conversation?",
		name: "chat",
		components: { default: ChatPage, sidebar: ChatHistory },
		meta: { section: "chat" },
	},
	page("/runs", "runs", "runs", later(() => import("./runs/RunsPage.vue"))),
	page("/runs/:name", "run", "runs", later(() => import("./runs/RunPage.vue"))),
	page("/runs/:name/compare/:other", "compare", "runs", later(() => import("./runs/ComparePage.vue"))),
	page("/costs", "costs", "costs", later(() => import("./costs/CostsPage.vue"))),
	page("/drafts/:name?", "drafts", "drafts", later(() => import("./drafts/DraftsPage.vue"))),
	page("/knowledge", "knowledge", "knowledge", later(() => import("./knowledge/KnowledgePage.vue"))),
	page("/triggers", "triggers", "triggers", later(() => import("./triggers/TriggersPage.vue"))),
	page("/new-trigger", "new-trigger", "triggers", later(() => import("./triggers/NewTriggerPage.vue"))),
	page("/triggers/:name", "trigger", "triggers", later(() => import("./triggers/TriggerPage.vue"))),
	page("/mail", "mail", "mail", later(() => import("./mail/MailsPage.vue"))),
	page("/mail/:name", "mail-one", "mail", later(() => import("./mail/MailPage.vue"))),
	page("/packs", "packs", "packs", later(() => import("./packs/PacksPage.vue"))),
	page("/agents", "agents", "agents", later(() => import("./agents/AgentsPage.vue"))),
	page("/new-agent", "new-agent", "agents", later(() => import("./agents/AgentPage.vue"))),
	page("/import-agents", "import-agents", "agents", later(() => import("./agents/ImportAgentsPage.vue"))),
	page("/agents/:name", "agent", "agents", later(() => import("./agents/AgentPage.vue"))),
	page("/tools", "tools", "tools", later(() => import("./tools/ToolsPage.vue"))),
	page("/new-tool", "new-tool", "tools", later(() => import("./tools/ToolPage.vue"))),
	page("/import-tools", "import-tools", "tools", later(() => import("./tools/ImportToolsPage.vue"))),
	page("/tools/:name", "tool", "tools", later(() => import("./tools/ToolPage.vue"))),
	page("/models", "models", "models", later(() => import("./models/ModelsPage.vue"))),
	page("/settings", "settings", "settings", later(() => import("./settings/SettingsPage.vue"))),
	page("/programs", "programs", "settings", later(() => import("./settings/ProgramsPage.vue"))),
	page("/people", "people", "people", later(() => import("./people/PeoplePage.vue"))),
	page("/profile", "profile", "settings", later(() => import("./settings/ProfilePage.vue"))),
	record("/models/:name", "model", "models", "AI Model"),
	record("/providers/:name", "provider", "models", "AI Provider"),
	page("/records", "doctypes", "records", later(() => import("./records/DoctypesPage.vue"))),
	page("/records/:doctype", "records", "records", later(() => import("./records/RecordsPage.vue"))),
	page("/new-record/:doctype", "new-record", "records", later(() => import("./records/RecordPage.vue"))),
	page("/records/:doctype/:name", "record", "records", later(() => import("./records/RecordPage.vue"))),
	page("/help/:page", "help", null, later(() => import("./help/HelpPage.vue"))),
	{ path: "/:path(.*)*", name: "missing", component: MissingPage },
];

export const router = createRouter({ history: createWebHistory("/huf"), routes });

/** ?embed=1 is kept on every navigation. */
router.beforeEach((to, from) => {
	const { embed, test } = from.query;
	if (embed && !to.query.embed) return { ...to, query: { ...to.query, embed, test }, replace: true };
});
