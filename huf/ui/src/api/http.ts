/** Calls whitelisted functions of the site: JSON in, JSON out, errors as ApiError. Keeps no state but the boot data. */
import { currentLocale } from "../i18n/index.ts";
import { boot } from "../state/session.ts";
import { ApiError, readError } from "./errors.ts";

const METHOD = "/api/method/";
/** Makes Frappe return errors as JSON rather than as a page without the reason. */
const STREAM = "text/event-stream, application/json";

export async function callGet<Answer = any>(method: string, params: Record<string, unknown> = {}): Promise<Answer> {
	const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== null);
	const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
	return readMessage(await request(METHOD + method + (query ? `?${query}` : ""), { method: "GET" }));
}

/** `keepalive`: the request is sent even if the page is closed. */
export async function callPost<Answer = any>(method: string, body: object = {}, keepalive = false): Promise<Answer> {
	return readMessage(await request(METHOD + method, { ...postOptions(body), keepalive }));
}

/** The open response of a streaming function; the caller reads its body. */
export function openStream(method: string, body: object, signal?: AbortSignal): Promise<Response> {
	const { headers, ...options } = postOptions(body);
	return request(METHOD + method, { ...options, headers: { ...headers, Accept: STREAM }, signal });
}

/** The open response of a streaming function that only reads. */
export function openReading(method: string, params: Record<string, string>, signal?: AbortSignal): Promise<Response> {
	const url = `${METHOD}${method}?${new URLSearchParams(params)}`;
	return request(url, { method: "GET", headers: { Accept: STREAM }, signal });
}

function postOptions(body: object) {
	return { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
}

/** A fetch as the signed-in user. Rejects with ApiError unless the response is a success. */
export async function request(url: string, options: RequestInit): Promise<Response> {
	const headers = {
		Accept: "application/json",
		"X-Frappe-CSRF-Token": boot.csrf_token || "",
		"X-Huf-Language": currentLocale(),
		...options.headers,
	};
	const response = await fetch(url, { credentials: "same-origin", ...options, headers }).catch((error) => {
		throw error.name === "AbortError" ? error : new ApiError("network");
	});
	if (!response.ok) throw await readError(response, isSignedIn);
	return response;
}

async function readMessage(response: Response) {
	const body = await response.json().catch(() => {
		throw new ApiError("server", "", response.status);
	});
	return body.message;
}

/** 403 means both "not yours" and "signed out": only the session itself can tell. */
export async function isSignedIn(): Promise<boolean> {
	const response = await fetch(`${METHOD}frappe.auth.get_logged_user`, { credentials: "same-origin" }).catch(
		() => null,
	);
	if (!response?.ok) return false;
	const body = await response.json().catch(() => ({}));
	return body.message === boot.user;
}
