import { ref } from "vue";
import { dismiss, showError } from "../state/notices.ts";

/**
 * What a button starts: `isBusy` while it is at work, and its failure is shown until it is tried again.
 * @returns {{isBusy, attempt}} `attempt(work)` resolves to whether the work succeeded
 */
export function useAttempt(onError = showError) {
	const isBusy = ref(false);
	let shown;
	async function attempt(work) {
		isBusy.value = true;
		dismiss(shown);
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
