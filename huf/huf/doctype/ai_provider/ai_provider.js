frappe.ui.form.on("AI Provider", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Models"), () =>
			frappe.set_route("List", "AI Model", { provider: frm.doc.name })
		);
		frm.add_custom_button(__("Test Key"), () => test_key(frm));
	},
});

// Tests the key by sending a one-word prompt to one of the provider's models.
function test_key(frm) {
	const fields = {
		fieldname: "model",
		fieldtype: "Link",
		options: "AI Model",
		label: __("Model"),
		reqd: 1,
		get_query: () => ({ filters: { provider: frm.doc.name } }),
	};
	const show = ({ message }) =>
		frappe.msgprint({
			title: message.ok ? __("The Key Works") : __("No Answer"),
			indicator: message.ok ? "green" : "red",
			message: frappe.utils.escape_html(message.ok ? message.said : message.error),
		});
	frappe.prompt(
		fields,
		(values) => frappe.call({ method: "huf.api.model.check", args: values, freeze: true }).then(show),
		__("Test Key"),
		__("Test")
	);
}
