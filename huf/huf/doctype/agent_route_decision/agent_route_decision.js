frappe.ui.form.on("Agent Route Decision", {
	refresh(frm) {
		const format = frappe.form.get_formatter("Float");
		frm.set_df_property("cost", "formatter", (value, df, options, doc) =>
			doc && !doc.cost_known ? __("unknown") : format(value, df, options, doc)
		);
		if (frm.doc.run) {
			frm.add_custom_button(__("Run"), () => frappe.set_route("Form", "Agent Run", frm.doc.run));
		}
	},
});
