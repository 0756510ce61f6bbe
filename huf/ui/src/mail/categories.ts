import { t } from "../i18n/index.ts";
import type { Mail } from "../api/types/triggers.ts";

/** What the site stores for a mail that fits none of its categories. */
const UNCLASSIFIED = "unclassified";

export const categoryOf = ({ category }: Mail) =>
	category === UNCLASSIFIED ? t("mail.unclassified") : category;
