/** Uploads what is attached to a message: as private Files of the person, who gives them to a conversation by sending. */
import { boot } from "../state/session.js";
import { ApiError, readError } from "./errors.js";
import { isSignedIn } from "./http.js";

export { deleteRecord } from "./resource.js";

/** onProgress(share from 0 to 1) -> the File. Rejects with ApiError, and with AbortError when the signal aborts it. */
export function uploadFile(file, { onProgress, signal }) {
	const body = new FormData();
	body.append("file", file, file.name);
	body.append("is_private", "1");
	// fetch does not tell how much has been sent.
	const wire = new XMLHttpRequest();
	wire.open("POST", "/api/method/upload_file");
	wire.setRequestHeader("Accept", "application/json");
	wire.setRequestHeader("X-Frappe-CSRF-Token", boot.csrf_token || "");
	wire.upload.onprogress = ({ loaded, total }) => onProgress(total ? loaded / total : 0);
	signal.addEventListener("abort", () => wire.abort());
	return new Promise((resolve, reject) => {
		wire.onerror = () => reject(new ApiError("network"));
		wire.onabort = () => reject(new DOMException("", "AbortError"));
		wire.onload = async () => {
			const response = new Response(wire.responseText, { status: wire.status });
			if (response.ok) resolve((await response.json()).message);
			else reject(await readError(response, isSignedIn));
		};
		wire.send(body);
	});
}
