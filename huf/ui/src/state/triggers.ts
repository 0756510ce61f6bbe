/** The switch of a trigger: it shows the wanted state at once, and the stored one as soon as it is known. */
import { useMutation } from "@tanstack/vue-query";
import { computed } from "vue";
import { setEnabled } from "../api/triggers.ts";
import type { Trigger } from "../api/types/triggers.ts";
import { showError } from "./notices.ts";
import { invalidate } from "./queries.ts";

/** `trigger` returns the trigger's record, or undefined while it is unknown. */
export function useTriggerSwitch(trigger: () => Trigger | null | undefined) {
	const { mutateAsync, isPending, variables } = useMutation({
		mutationFn: (isEnabled: boolean) => setEnabled(trigger()!.name, isEnabled),
		onSettled: () => invalidate("triggers"),
	});
	const isOn = computed(() => (isPending.value ? Boolean(variables.value) : trigger()?.disabled === 0));
	/** -> what the site has stored; null if it refused */
	const turn = (isEnabled: boolean) =>
		mutateAsync(isEnabled).catch((error) => {
			showError(error);
			return null;
		});
	return { isOn, isSwitching: isPending, turn };
}
