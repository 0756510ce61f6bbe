frappe.ui.form.on("Agent", {
	refresh(frm) {
		if (frm.is_new()) return;
		if (frm.doc.allow_chat && !frm.doc.disabled) {
			const address = `/huf/chat?agent=${encodeURIComponent(frm.doc.name)}`;
			frm.add_custom_button(__("Chat"), () => window.open(address, "_blank", "noopener"));
		}
		frm.add_custom_button(__("Runs"), () => frappe.set_route("List", "Agent Run", { agent: frm.doc.name }));
	},
});
