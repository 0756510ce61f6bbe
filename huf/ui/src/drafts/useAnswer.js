/**
 * Answering one draft. A refusal is looked into: what it would do may have changed, or somebody else was faster, and then that
 * is what is shown.
 */
import { reactive, ref, watch } from "vue";
import { approveDraft, fetchDraft, rejectDraft } from "../api/drafts.ts";
import { updateDraft } from "../state/drafts.ts";

/** @param given returns the draft as the page knows it; @param answered is called with a draft that has its answer */
export function useAnswer(given, answered) {
	const draft = ref(given());
	const state = reactive({
		mode: "look", // look | edit | reject
		isBusy: false,
		problem: null,
		/** What is shown is not what was shown before. */
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

	// What was read before the answer would look like news after it.
	watch(given, (now) => state.isBusy || take(now));
	return { draft, state, approve, reject };
}
