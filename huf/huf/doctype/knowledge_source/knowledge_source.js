frappe.ui.form.on("Knowledge Source", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Index Now"), () =>
			frappe
				.call("huf.api.knowledge.index", { source: frm.doc.name })
				.then(() => frappe.show_alert(__("Queued. This may take a minute.")))
		);
		frm.add_custom_button(__("Items"), () =>
			frappe.set_route("List", "Knowledge Item", { source: frm.doc.name })
		);
	},
});
