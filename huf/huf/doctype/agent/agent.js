frappe.ui.form.on("Agent", {
	refresh(frm) {
		if (frm.is_new()) return;
		if (frm.doc.allow_chat && !frm.doc.disabled) {
			const address = `/huf/chat?agent=${encodeURIComponent(frm.doc.name)}`;
			frm.add_custom_button(__("Chat"), () => window.open(address, "_blank", "noopener"));
		}
		frm.add_custom_button(__("Runs"), () => frappe.set_route("List", "Agent Run", { agent: frm.doc.name }));
		const agent = { agent: frm.doc.name };
		frm.add_custom_button(__("Cases"), () => frappe.set_route("List", "Agent Eval Case", agent), __("Evals"));
		frm.add_custom_button(
			__("Run Cases"),
			() => frappe.call("huf.api.eval.run", agent).then(() => frappe.show_alert(__("A worker runs them."))),
			__("Evals")
		);
		if (!frm.doc.pending_changes) return;
		frm.set_intro(__("A change waits until the cases pass: Evals, Run Cases."), "orange");
		frm.add_custom_button(
			__("Discard Waiting Changes"),
			() => frappe.call("huf.api.eval.discard_changes", agent).then(() => frm.reload_doc()),
			__("Evals")
		);
	},
});
