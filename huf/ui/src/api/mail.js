/** The endpoints about mail, one function each. What they answer is described in huf/api/mail.py. */
import { callGet, callPost } from "./http.js";

const CALL = "huf.api.mail.";
export const PAGE_LENGTH = 50;

export const fetchMails = (filters, start = 0) =>
	callGet(`${CALL}get_mails`, { ...filters, start, limit: PAGE_LENGTH });
export const fetchMail = (name) => callGet(`${CALL}get_mail`, { name });
export const fetchRules = () => callGet(`${CALL}get_rules`);
export const testRule = (rule, mail) => callGet(`${CALL}test_rule`, { rule, mail });
export const backtestRule = (rule, days) => callGet(`${CALL}backtest_rule`, { rule, days });
export const saveDraft = (name, text) => callPost(`${CALL}save_draft`, { name, text });
export const approveDraft = (name, text) => callPost(`${CALL}approve_draft`, { name, text });
export const discardDraft = (name) => callPost(`${CALL}discard_draft`, { name });
export const handOver = (mail) => callPost(`${CALL}hand_over`, { mail });
export const giveBack = (mail) => callPost(`${CALL}give_back`, { mail });
export const testMailbox = (mailbox) => callPost(`${CALL}test_mailbox`, { mailbox });
export const syncMailbox = (mailbox) => callPost(`${CALL}sync_mailbox`, { mailbox });

export const fetchMailboxes = () =>
	callGet("frappe.client.get_list", {
		doctype: "Agent Mailbox",
		fields: JSON.stringify(["name", "email", "enabled", "last_sync", "last_error"]),
		order_by: "name asc",
		limit_page_length: 100,
	});
