import { loadOtherTexts, t } from "../i18n/index.ts";
import { showError } from "../state/notices.ts";

/**
 * Loads a page, dialog or card on demand, together with the texts that the first page does not need. That fails if the
 * site cannot be reached, or has been updated since this page was opened. Browsers remember it, so only a reload helps.
 */
export const later =
	<Module>(load: () => Promise<Module>) =>
	async (): Promise<Module> => {
		try {
			const [module] = await Promise.all([load(), loadOtherTexts()]);
			return module;
		} catch (error) {
			showError({ message: t("error.part"), kind: "stale" });
			throw error;
		}
	};
