/** The switch of a trigger: it shows the wanted state at once, and the site's own as soon as that is known. */
import { useMutation } from "@tanstack/vue-query";
import { computed } from "vue";
import { setEnabled } from "../api/triggers.js";
import { showError } from "./notices.js";
import { invalidate } from "./queries.js";

/** @param trigger a function that returns the trigger's record, or null while it is not known */
export function useTriggerSwitch(trigger) {
	const { mutateAsync, isPending, variables } = useMutation({
		mutationFn: (isEnabled) => setEnabled(trigger().name, isEnabled),
		onSettled: () => invalidate("triggers"),
	});
	const isOn = computed(() => (isPending.value ? variables.value : Boolean(trigger()) && !trigger().disabled));
	return { isOn, isSwitching: isPending, turn: (isEnabled) => mutateAsync(isEnabled).catch(showError) };
}
