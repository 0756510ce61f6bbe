frappe.ui.form.on("Agent", {
	onload(frm) {
		// The Desk reads a default in the site's number format: 0.3 is 3 where the point separates thousands.
		if (frm.is_new() && frm.doc.temperature === flt("0.3")) frm.doc.temperature = 0.3;
	},

	refresh(frm) {
		if (frm.is_new()) return;
		if (frm.doc.allow_chat && !frm.doc.disabled) {
			const address = `/huf/chat?agent=${encodeURIComponent(frm.doc.name)}`;
			frm.add_custom_button(__("Chat"), () => window.open(address, "_blank", "noopener"));
		}
		if (!frm.doc.disabled) frm.add_custom_button(__("Test"), () => ask_for_test(frm));
		frm.add_custom_button(__("Runs"), () => frappe.set_route("List", "Agent Run", { agent: frm.doc.name }));
		const agent = { agent: frm.doc.name };
		frm.add_custom_button(__("Cases"), () => frappe.set_route("List", "Agent Eval Case", agent), __("Evals"));
		frm.add_custom_button(
			__("Run Cases"),
			() => frappe.call("huf.api.eval.run", agent).then(() => frappe.show_alert(__("The eval cases are queued."))),
			__("Evals")
		);
		if (!frm.doc.pending_changes) return;
		frm.set_intro(__("A change is held until the eval cases pass. Choose Evals, Run Cases."), "orange");
		frm.add_custom_button(
			__("Discard Pending Changes"),
			() => frappe.call("huf.api.eval.discard_changes", agent).then(() => frm.reload_doc()),
			__("Evals")
		);
	},
});

// Runs the agent once as the signed-in user and shows the answer with a link to its run.
function ask_for_test(frm) {
	frappe.prompt(
		{ fieldname: "prompt", fieldtype: "Small Text", label: __("Question"), reqd: 1 },
		({ prompt }) =>
			frappe
				.call({
					method: "huf.ai.agent_integration.run_agent_sync",
					args: { agent_name: frm.doc.name, prompt },
					freeze: true,
				})
				.then(({ message }) => show_answer(message)),
		__("Test"),
		__("Ask")
	);
}

function show_answer(answer) {
	const escape = frappe.utils.escape_html;
	// Not as Markdown: an answer may contain what an outsider wrote, and an image of theirs would be loaded.
	const text = `<div style="white-space: pre-wrap">${escape(answer.response || answer.error || "")}</div>`;
	const run = `<a href="/huf/runs/${encodeURIComponent(answer.run)}" target="_blank">${__("Timeline")}</a>`;
	frappe.msgprint({
		title: __(answer.status),
		indicator: answer.success ? "green" : "red",
		message: `${text}<p>${run}</p>`,
	});
}
