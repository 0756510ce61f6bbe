/**
 * Every page has its own address under /huf. A page gives its view and, if it has one, the sidebar's lower part; a new page
 * is one more line here and, if people should find it, one in layout/sections.js.
 */
import { createRouter, createWebHistory } from "vue-router";
import ChatHistory from "./chat/ChatHistory.vue";
import ChatPage from "./chat/ChatPage.vue";

const MissingPage = () => import("./components/MissingPage.vue");

export const routes = [
	{ path: "/", redirect: (to) => ({ name: "chat", query: to.query }) },
	{
		path: "/chat/:conversation?",
		name: "chat",
		components: { default: ChatPage, sidebar: ChatHistory },
	},
	{ path: "/:path(.*)*", name: "missing", component: MissingPage },
];

export const router = createRouter({ history: createWebHistory("/huf"), routes });

/** The embedding of a page (?embed=1) survives every step inside it. */
router.beforeEach((to, from) => {
	if (from.query.embed && !to.query.embed)
		return { ...to, query: { ...to.query, embed: from.query.embed }, replace: true };
});
