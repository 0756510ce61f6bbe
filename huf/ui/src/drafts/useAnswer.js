/**
 * Answers one draft. After a refusal the draft is loaded again: its effect may have changed, or somebody else may have
 * answered it.
 */
import { reactive, ref, watch } from "vue";
import { approveDraft, fetchDraft, rejectDraft } from "../api/drafts.ts";
import { updateDraft } from "../state/drafts.ts";

/** @param given returns the draft as the page knows it; @param answered is called with an answered draft */
export function useAnswer(given, answered) {
	const draft = ref(given());
	const state = reactive({
		mode: "look", // look | edit | reject
		isBusy: false,
		problem: null,
		/** The draft differs from the one that was shown before. */
		isRenewed: false,
	});

	function take(now) {
		const before = draft.value;
		draft.value = { ...now };
		const isOther = now.draft !== before.draft;
		if (isOther) Object.assign(state, { mode: "look", isBusy: false, problem: null, isRenewed: false });
		else if (now.status !== "Pending") Object.assign(state, { mode: "look", isRenewed: false });
		else if (now.digest !== before.digest) Object.assign(state, { problem: null, isRenewed: true });
	}

	async function attempt(answer) {
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

	function settle(now) {
		take(now);
		updateDraft(now);
		if (now.status !== "Pending") answered(now);
	}

	const approve = (other) => attempt(() => approveDraft(draft.value.draft, draft.value.digest, other));
	const reject = (reason) => attempt(() => rejectDraft(draft.value.draft, reason || undefined));

	// A response requested before the answer would look newer than it.
	watch(given, (now) => state.isBusy || take(now));
	return { draft, state, approve, reject };
}
