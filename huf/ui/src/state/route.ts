/** Who answers the next message, as chosen in this browser: the router, the chat or the agent. */
import { ref, watch } from "vue";
import type { RouteChoice } from "../api/types/conversations.ts";
import { recall, remember } from "./storage.ts";

export const ROUTES: RouteChoice[] = ["agent", "auto", "chat"];
const stored = recall("route") as RouteChoice;
export const route = ref<RouteChoice>(ROUTES.includes(stored) ? stored : "agent");
watch(route, (chosen) => remember("route", chosen));
