const form = document.getElementById("login");
const [error, usr, pwd, go] = [".error", "#usr", "#pwd", ".go"].map((part) => form.querySelector(part));

function fail(text, field) {
	error.textContent = text;
	go.disabled = false;
	if (field) { field.focus(); field.select(); }
}

const REASONS = {
	403: "This login was refused. Reload the page and try again.",
	503: "The server is busy. Please try again in a moment.",
	507: "The server's disk is full. Ask the administrator to free some space.",
};

form.addEventListener("submit", async (event) => {
	event.preventDefault();
	error.textContent = "";
	if (!usr.value.trim()) return fail("Please fill in your email or user name.", usr);
	if (!pwd.value) return fail("Please fill in your password.", pwd);
	go.disabled = true;
	try {
		const body = new URLSearchParams({ usr: usr.value.trim(), pwd: pwd.value });
		const answer = await fetch("/api/method/login", { method: "POST", headers: { Accept: "application/json" }, body });
		if (answer.ok) return location.assign(form.dataset.redirect);
		fail(REASONS[answer.status] || (await readMessage(answer)), pwd);
	} catch {
		fail("The server does not answer. Is it still running?");
	}
});
