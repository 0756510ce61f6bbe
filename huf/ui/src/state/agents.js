/** The agents this user may talk to, and which one was picked last. */
import { reactive } from "vue";
import { fetchAgents } from "../api/chat.js";
import { recall, remember } from "./storage.js";

export const agents = reactive({ list: [], isLoaded: false, error: null, picked: recall("agent") });

export async function loadAgents() {
	agents.error = null;
	try {
		agents.list = (await fetchAgents()) || [];
		agents.isLoaded = true;
	} catch (error) {
		agents.error = error;
	}
}

export function findAgent(name) {
	return agents.list.find((agent) => agent.name === name) || null;
}

export function pickAgent(name) {
	agents.picked = name;
	remember("agent", name);
}

/** The agent for a new chat: the picked one if it still exists, else the first. */
export function pickedAgent() {
	return findAgent(agents.picked) || agents.list[0] || null;
}

export function effectOf(agentName, toolName) {
	return findAgent(agentName)?.tools?.find((tool) => tool.name === toolName)?.effect || null;
}
