frappe.ui.form.on("AI Model", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Agents"), () => frappe.set_route("List", "Agent", { model: frm.doc.name }));
	},
});
