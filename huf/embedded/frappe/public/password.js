for (const show of document.querySelectorAll(".show")) {
	const field = document.getElementById(show.getAttribute("aria-controls")), hidden = show.textContent;
	show.addEventListener("click", () => {
		const shows = field.type === "password";
		field.type = shows ? "text" : "password";
		show.textContent = shows ? show.dataset.shown : hidden;
		show.setAttribute("aria-pressed", String(shows));
		field.focus();
	});
}

/** What the server says to people. */
async function readMessage(answer) {
	const body = await answer.json().catch(() => ({}));
	const messages = JSON.parse(body._server_messages || "[]").map((message) => JSON.parse(message).message);
	return messages.join(" ") || body.message || `The server could not do this (error ${answer.status}).`;
}

async function send(form, error) {
	const headers = { Accept: "application/json" };
	if (form.dataset.token) headers["X-Frappe-CSRF-Token"] = form.dataset.token;
	const path = `/api/method/frappe.core.doctype.user.user.${form.dataset.method}`;
	const answer = await fetch(path, { method: "POST", headers, body: new URLSearchParams(new FormData(form)) });
	if (!answer.ok) return (error.textContent = await readMessage(answer));
	const sent = form.parentElement.querySelector(".sent");
	if (!sent) return location.assign((await answer.json()).message);
	form.hidden = true;
	sent.hidden = false;
}

for (const form of document.querySelectorAll("form.send")) {
	const error = form.querySelector(".error"), go = form.querySelector(".go");
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		error.textContent = "";
		const missing = [...form.elements].find((field) => field.required && !field.value.trim());
		if (missing) return missing.focus();
		go.disabled = true;
		await send(form, error).catch(() => (error.textContent = "The server does not answer. Is it still running?"));
		go.disabled = false;
	});
}
