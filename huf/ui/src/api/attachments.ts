/** Uploads attachments as private Files of the user; sending the message links them to the conversation. */
import { currentLocale } from "../i18n/index.ts";
import { boot } from "../state/session.ts";
import { ApiError, readError } from "./errors.ts";
import { isSignedIn } from "./http.ts";
import type { Attachment } from "./types/conversations.ts";

export { deleteRecord, readRecord } from "./resource.ts";

/** onProgress(share from 0 to 1) -> the File. Rejects with ApiError, and with AbortError when the signal aborts it. */
export function uploadFile(
	file: File,
	{ onProgress, signal }: { onProgress: (share: number) => void; signal: AbortSignal },
): Promise<Attachment> {
	const body = new FormData();
	body.append("file", file, file.name);
	body.append("is_private", "1");
	// fetch does not report upload progress.
	const wire = new XMLHttpRequest();
	wire.open("POST", "/api/method/upload_file");
	wire.setRequestHeader("Accept", "application/json");
	wire.setRequestHeader("X-Frappe-CSRF-Token", boot.csrf_token || "");
	wire.setRequestHeader("X-Huf-Language", currentLocale());
	wire.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
	signal.addEventListener("abort", () => wire.abort());
	return new Promise((resolve, reject) => {
		wire.onerror = () => reject(new ApiError("network"));
		wire.onabort = () => reject(new DOMException("", "AbortError"));
		wire.onload = () => {
			const response = new Response(wire.responseText, { status: wire.status });
			if (response.ok) response.json().then(({ message }) => resolve(message), () => reject(new ApiError("network")));
			else readError(response, isSignedIn).then(reject, reject);
		};
		wire.send(body);
	});
}
