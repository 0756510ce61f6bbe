frappe.ui.form.on("AI Model", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Agents"), () => frappe.set_route("List", "Agent", { model: frm.doc.name }));
		frm.add_custom_button(__("Test"), () =>
			frappe
				.call({ method: "huf.api.model.check", args: { model: frm.doc.name }, freeze: true })
				.then(({ message }) =>
					frappe.msgprint({
						title: message.ok ? __("The Model Responds") : __("No Answer"),
						indicator: message.ok ? "green" : "red",
						message: frappe.utils.escape_html(message.ok ? message.said : message.error),
					})
				)
		);
	},
});
