import { ref } from "vue";
import type { ApiError } from "../api/errors.ts";
import { dismiss, showError } from "../state/notices.ts";

/**
 * What a button starts: `isBusy` while it is at work, and its failure is shown until it is tried again.
 * `attempt(work)` resolves to whether the work succeeded.
 */
export function useAttempt(onError: (error: ApiError) => unknown = showError) {
	const isBusy = ref(false);
	let shown: unknown;
	async function attempt(work: () => unknown): Promise<boolean> {
		isBusy.value = true;
		if (typeof shown === "number") dismiss(shown);
		try {
			await work();
			return true;
		} catch (error) {
			shown = onError(error);
			return false;
		} finally {
			isBusy.value = false;
		}
	}
	return { isBusy, attempt };
}
