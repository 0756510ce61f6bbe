frappe.ui.form.on("Agent LLM Call", {
	refresh(frm) {
		const format = frappe.form.get_formatter("Float");
		frm.set_df_property("cost", "formatter", (value, df, options, doc) =>
			doc && !doc.cost_known ? __("unknown") : format(value, df, options, doc)
		);
	},
});
