/** The agents that the user may chat with, and the last choice. */
import { computed, reactive, ref, shallowReactive } from "vue";
import { fetchAgents } from "../api/chat.ts";
import type { ChatAgent } from "../api/types/agents.ts";
import type { Effect } from "../api/types/values.ts";
import { queryClient, useData } from "./queries.ts";
import { recall, remember } from "./storage.ts";

const AGENTS = { queryKey: ["agents", "chat"], queryFn: async () => (await fetchAgents()) || [], staleTime: 60_000 };

const picked = ref(recall("agent"));

/** -> {list, isLoaded, error, find(name), picked}; `picked` is the agent for a new chat: the last choice here, else the default. */
export function useAgents() {
	const query = useData(AGENTS);
	const list = computed(() => query.data || []);
	const find = (name: string) => list.value.find((agent) => agent.name === name) || null;
	return reactive({
		list,
		isLoaded: computed(() => Boolean(query.data)),
		error: computed(() => query.error),
		picked: computed(() => find(picked.value) || list.value.find((agent) => agent.is_default) || list.value[0] || null),
		find,
		refetch: query.refetch,
	});
}

export function pickAgent(name: string): void {
	picked.value = name;
	remember("agent", name);
}

const chosenModels = shallowReactive(new Map<string, string>());

/** The model chosen in this browser for an agent's chats; "": the agent's own. */
export function chosenModel(agent: ChatAgent | null | undefined): string {
	if (!agent) return "";
	const name = chosenModels.get(agent.name) ?? recall(`model:${agent.name}`);
	return agent.models.some((model) => model.name === name) ? name : "";
}

export function chooseModel(agent: ChatAgent, name: string): void {
	chosenModels.set(agent.name, name);
	remember(`model:${agent.name}`, name || null);
}

export const knownAgent = (name: string): ChatAgent | undefined =>
	queryClient.getQueryData<ChatAgent[]>(AGENTS.queryKey)?.find((agent) => agent.name === name);

/** The effect of an agent's tool, if the agents have loaded. */
export function effectOf(agentName: string, toolName: string): Effect | null {
	return knownAgent(agentName)?.tools?.find((tool) => tool.name === toolName)?.effect || null;
}

/** Resolves when the agents are known. */
export const ensureAgents = () => queryClient.ensureQueryData(AGENTS);
