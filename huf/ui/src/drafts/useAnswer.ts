/**
 * Answers one draft. After a refusal the draft is loaded again: its effect may have changed, or somebody else may have
 * answered it.
 */
import { reactive, shallowRef, watch } from "vue";
import { approveDraft, fetchDraft, rejectDraft } from "../api/drafts.ts";
import type { ApiError } from "../api/errors.ts";
import type { Draft } from "../api/types/drafts.ts";
import type { JsonObject } from "../api/types/values.ts";
import { updateDraft } from "../state/drafts.ts";

/** `given` returns the draft as the page knows it; `answered` is called with an answered draft. */
export function useAnswer(given: () => Draft, answered: (draft: Draft) => void) {
	const draft = shallowRef(given());
	const state = reactive({
		mode: "look" as "look" | "edit" | "reject",
		isBusy: false,
		problem: null as ApiError | null,
		/** The draft differs from the one that was shown before. */
		isRenewed: false,
	});

	function take(now: Draft): void {
		const before = draft.value;
		draft.value = { ...now };
		const isOther = now.draft !== before.draft;
		if (isOther) Object.assign(state, { mode: "look", isBusy: false, problem: null, isRenewed: false });
		else if (now.status !== "Pending") Object.assign(state, { mode: "look", isRenewed: false, problem: refusal() });
		else if (now.digest !== before.digest) Object.assign(state, { problem: null, isRenewed: true });
	}

	/** What the site said against the answer; a lost connection no longer matters once the draft is answered. */
	const refusal = () => (state.problem?.kind === "network" ? null : state.problem);

	async function attempt(answer: () => Promise<Partial<Draft>>): Promise<void> {
		if (state.isBusy) return;
		const { draft: name } = draft.value;
		Object.assign(state, { isBusy: true, problem: null });
		try {
			settle({ ...draft.value, ...(await answer()), may_answer: false });
		} catch (error) {
			state.problem = error;
			const now = await fetchDraft(name).catch(() => null);
			if (now && name === draft.value.draft) settle(now);
		}
		state.isBusy = false;
	}

	function settle(now: Draft): void {
		take(now);
		updateDraft(now);
		if (now.status !== "Pending") answered(now);
	}

	const approve = (other?: JsonObject) => attempt(() => approveDraft(draft.value.draft, draft.value.digest, other));
	const reject = (reason?: string) => attempt(() => rejectDraft(draft.value.draft, reason || undefined));

	// A response requested before the answer would look newer than it.
	watch(given, (now) => state.isBusy || take(now));
	return { draft, state, approve, reject };
}
