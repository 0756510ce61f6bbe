/** Endpoints for mail, one function each; see huf/api/mail.py. */
import { callGet, callPost } from "./http.ts";
import type { Values } from "./types/records.ts";
import type { Condition, Mail, MailRule, MailStory, Mailbox, WaitingMail } from "./types/triggers.ts";

const CALL = "huf.api.mail.";
export const PAGE_LENGTH = 50;

export const fetchMails = (start: number) => callGet<Mail[]>(`${CALL}get_mails`, { start, limit: PAGE_LENGTH });
export const fetchMail = (name: string) => callGet<MailStory>(`${CALL}get_mail`, { name });
export const fetchRules = () => callGet<MailRule[]>(`${CALL}get_rules`);
/** `values`: the rule as the form shows it, perhaps unsaved. */
export const testRule = (rule: string, mail: string, values: Values) =>
	callPost<{ rule: string; fits: boolean; checks: Condition[] }>(`${CALL}test_rule`, { rule, mail, values });
export const backtestRule = (rule: string, days: number, values: Values) =>
	callPost<{ looked_at: number; taken: { mail: string; sender: string; subject: string }[] }>(`${CALL}backtest_rule`, { rule, days, values });
export interface ReplyFields {
	text: string;
	subject: string;
	to: string;
	/** The version of the draft that was edited; refused if the draft has changed since. */
	modified: string;
}
export const saveDraft = (name: string, fields: ReplyFields) =>
	callPost<{ modified: string }>(`${CALL}save_draft`, { name, ...fields });
export const approveDraft = (name: string, fields: ReplyFields) => callPost(`${CALL}approve_draft`, { name, ...fields });
export const discardDraft = (name: string) => callPost(`${CALL}discard_draft`, { name });
export const handOver = (mail: string) => callPost(`${CALL}hand_over`, { mail });
export const fetchWaitingMails = () => callGet<WaitingMail[]>(`${CALL}get_waiting_replies`);
export const beginReply = (mail: string) => callPost<{ name: string }>(`${CALL}reply`, { mail });
export const assign = (mail: string, user: string) => callPost(`${CALL}assign`, { mail, user });
/** Without a category a model chooses. */
export const reclassify = (mail: string, category?: string) => callPost(`${CALL}reclassify`, { mail, category });
export const runAgain = (mail: string) => callPost(`${CALL}run_again`, { mail });
export const giveBack = (mail: string) => callPost(`${CALL}give_back`, { mail });
export const testMailbox = (mailbox: string) =>
	callPost<{ part: string; error: string | null }[]>(`${CALL}test_mailbox`, { mailbox });
/** The Connected App of a provider, made if there is none. */
export const makeSignInApp = (provider: string) =>
	callPost<{ name: string; redirect_uri: string; client_id: string | null }>(`${CALL}make_sign_in_app`, { provider });
/** -> the provider's page where the user grants access to the mailbox */
export const beginSignIn = (mailbox: string) => callPost<string>(`${CALL}begin_sign_in`, { mailbox });
export const finishSignIn = (mailbox: string) =>
	callPost<{ part: string; error: string | null }[]>(`${CALL}finish_sign_in`, { mailbox });
export const syncMailbox = (mailbox: string) => callPost(`${CALL}sync_mailbox`, { mailbox });

export const fetchMailboxes = () =>
	callGet<Mailbox[]>("frappe.client.get_list", {
		doctype: "Agent Mailbox",
		fields: JSON.stringify(["name", "email", "enabled", "last_sync", "last_error", "auth_method", "connected_user"]),
		order_by: "name asc",
		limit_page_length: 100,
	});
