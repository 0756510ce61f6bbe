frappe.ui.form.on("Agent Route Decision", {
	refresh(frm) {
		if (frm.doc.run) {
			frm.add_custom_button(__("Run"), () => frappe.set_route("Form", "Agent Run", frm.doc.run));
		}
	},
});
