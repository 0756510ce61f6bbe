/** Errors of requests, sorted by what the reader can do about them. Reads Frappe's error bodies; shows nothing itself. */
import { t } from "../i18n/index.ts";
import { parseJson } from "../lib/json.ts";

/**
 * session (signed out), stale (page older than the session), permission, missing, rejected (the site says why), server (5xx),
 * network (no answer at all), cut (the stream broke off)
 */
export type ErrorKind =
	| "session"
	| "stale"
	| "permission"
	| "missing"
	| "rejected"
	| "server"
	| "network"
	| "cut";

export class ApiError extends Error {
	kind: ErrorKind;
	/** The HTTP status; 0 if there was no response. */
	status: number;

	constructor(kind: ErrorKind, message = "", status = 0) {
		super(message || t(`error.${kind}`));
		this.name = "ApiError";
		this.kind = kind;
		this.status = status;
	}

	withDetail(detail: string): this {
		if (detail && this.kind !== "session") this.message = `${this.message} ${detail}`;
		return this;
	}
}

/** Frappe's body of an error response. */
interface ErrorBody {
	exc_type?: string;
	session_expired?: number;
	exception?: string;
	message?: unknown;
	_error_message?: string;
	_server_messages?: string;
}

/** An error response -> ApiError. `isSignedIn` is only called for 403, which can mean either. */
export async function readError(response: Response, isSignedIn: () => Promise<boolean>): Promise<ApiError> {
	const body: ErrorBody = parseJson(await response.text().catch(() => "")) || {};
	const message = serverMessage(body);
	const { status } = response;
	if (body.exc_type === "CSRFTokenError") return new ApiError("stale", "", status);
	if (status === 401 || body.session_expired) return new ApiError("session", "", status);
	if (status === 403)
		return new ApiError((await isSignedIn()) ? "permission" : "session", "", status).withDetail(message);
	if (status === 404) return new ApiError("missing", message, status);
	if (status >= 500) return new ApiError("server", "", status).withDetail(message);
	// A web server in front of the site sends no message that people could read.
	return new ApiError("rejected", status === 413 ? t("error.too_large") : message, status);
}

/** Frappe encodes messages twice: a JSON list of JSON objects. */
export function serverMessage(body: ErrorBody): string {
	const list: unknown[] = parseJson(body._server_messages || "[]") || [];
	const texts = list.flatMap((item) => {
		const entry = parseJson(item as string) ?? item;
		return linesOf(typeof entry === "object" ? entry.message : entry);
	});
	if (texts.length) return joinSentences(texts);
	const own = body._error_message || body.message || lastLine(body.exception);
	return plainText(typeof own === "string" ? own : "");
}

/** Most of Frappe's own messages end without a full stop. */
const joinSentences = ([first, ...others]: string[]): string =>
	others.reduce((before, text) => `${before}${/[.,;:!?…]$/.test(before) ? "" : "."} ${text}`, first);

/** "frappe.exceptions.ValidationError: Title is missing" -> "Title is missing"; without a message "" */
function lastLine(exception: unknown): string {
	return String(exception || "")
		.replace(/^[\w.]+((Error|Exception)$|:\s*)/, "")
		.split("\n")
		.at(-1)!;
}

const linesOf = (html: unknown): string[] =>
	String(html ?? "").split(/<br\s*\/?>|<\/(?:p|li|div)>/i).map(plainText).filter(Boolean);

function plainText(html: unknown): string {
	return String(html ?? "")
		.replace(/<\/?[a-z][^>]*>/gi, " ")
		.replace(/\s+/g, " ")
		.trim();
}
