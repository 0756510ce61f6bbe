frappe.ui.form.on("Knowledge Source", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Index Now"), () =>
			frappe
				.call("huf.api.knowledge.index", { source: frm.doc.name })
				.then(() => frappe.show_alert(__("Queued. This may take a minute.")))
		);
		frm.add_custom_button(__("Items"), () =>
			window.open(`/huf/knowledge?source=${encodeURIComponent(frm.doc.name)}`)
		);
	},
});
