frappe.ui.form.on("Agent Conversation", {
	refresh(frm) {
		frm.add_custom_button(__("Open Chat"), () =>
			window.open(`/huf/chat/${encodeURIComponent(frm.doc.name)}`, "_blank", "noopener")
		);
		frm.add_custom_button(__("Runs"), () =>
			frappe.set_route("List", "Agent Run", { conversation: frm.doc.name })
		);
	},
});
