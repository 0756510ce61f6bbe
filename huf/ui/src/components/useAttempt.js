import { ref } from "vue";
import { showError } from "../state/notices.ts";

/**
 * What a button starts: `isBusy` while it is at work, and its failure is shown.
 * @returns {{isBusy, attempt}} `attempt(work)` resolves to whether the work succeeded
 */
export function useAttempt(onError = showError) {
	const isBusy = ref(false);
	async function attempt(work) {
		isBusy.value = true;
		try {
			await work();
			return true;
		} catch (error) {
			onError(error);
			return false;
		} finally {
			isBusy.value = false;
		}
	}
	return { isBusy, attempt };
}
