frappe.ui.form.on("Agent Draft", {
	refresh(frm) {
		if (frm.doc.status !== "Pending") return;
		// What was refused is told by Frappe; either way the form then shows how the draft stands.
		const answer = (method, args) =>
			frappe
				.xcall(`huf.api.draft.${method}`, { draft: frm.doc.name, ...args })
				.catch(() => {})
				.then(() => frm.reload_doc());
		frm.add_custom_button(__("Approve"), () => answer("approve", { digest: frm.doc.digest }));
		frm.add_custom_button(__("Reject"), () =>
			frappe.prompt(
				{ fieldname: "reason", fieldtype: "Small Text", label: __("Reason") },
				(values) => answer("reject", values),
				__("Reject"),
				__("Reject")
			)
		);
	},
});
