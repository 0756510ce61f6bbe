frappe.ui.form.on("Agent Mail", {
	refresh(frm) {
		frm.add_custom_button(__("Mail Processing"), () => window.open(`/huf/mail/${encodeURIComponent(frm.doc.name)}`));
	},
});
