/** A draft in words: what it would do, and its status. */
import { currentLocale, t } from "../i18n/index.ts";
import { headlineOf } from "../lib/drafts.ts";
import { formatValue } from "../lib/format.ts";
import { boot } from "../state/session.ts";
import type { Draft, DraftStatus } from "../api/types/drafts.ts";

const nameOf = (user: string): string => (user === boot.user ? t("draft.you") : user);

export function headline(draft: Parameters<typeof headlineOf>[0]): string {
	const { key, ...values } = headlineOf(draft);
	return t(`proposal.${key}`, values);
}

/** A field's value in the reader's language. */
export function valueOf(value: unknown, fieldtype?: string): string {
	if (fieldtype === "Check") return t(Number(value) ? "condition.yes" : "condition.no");
	return formatValue(value, fieldtype, currentLocale());
}

/** Who has to answer it, or how it ended. */
export function standing(draft: Draft): string {
	const { status, reason, approver } = draft;
	if (status === "Pending") {
		if (draft.may_answer) return t("draft.waits.mine");
		if (draft.second_person && draft.user === boot.user) return t("draft.waits.second");
		return approver ? t("draft.waits.other", { approver: nameOf(approver) }) : t("draft.waits.manager");
	}
	if (status === "Expired" && reason) return t("draft.Expired.reason", { reason });
	const isEdited = status === "Applied" && draft.edited_arguments;
	return t(isEdited ? "draft.Applied.edited" : `draft.${status}`, { by: nameOf(draft.answered_by || "") });
}

export const SIGNS: Partial<Record<DraftStatus, { icon: string; class: string }>> = {
	Pending: { icon: "pause", class: "text-write" },
	Applied: { icon: "check", class: "text-accent" },
	Rejected: { icon: "close", class: "text-muted" },
	Failed: { icon: "alert", class: "text-danger" },
	Expired: { icon: "clock", class: "text-muted" },
};
