frappe.ui.form.on("Agent Run", {
	refresh(frm) {
		const calls = { run: frm.doc.name };
		frm.add_custom_button(__("Model Calls"), () => frappe.set_route("List", "Agent LLM Call", calls));
		frm.add_custom_button(__("Tool Calls"), () => frappe.set_route("List", "Agent Tool Call", calls));
		if (["Queued", "Started", "Waiting"].includes(frm.doc.status)) {
			frm.add_custom_button(__("Cancel Run"), () =>
				frappe.call("huf.api.run.cancel", { run: frm.doc.name }).then(() => frm.reload_doc())
			);
		}
	},
});
