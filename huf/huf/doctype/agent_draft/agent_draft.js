frappe.ui.form.on("Agent Draft", {
	refresh(frm) {
		if (frm.doc.status !== "Pending") return;
		const answer = (method, args) =>
			frappe
				.call(`huf.api.draft.${method}`, { draft: frm.doc.name, ...args })
				.finally(() => frm.reload_doc());
		frm.add_custom_button(__("Approve"), () => answer("approve", { digest: frm.doc.digest }));
		frm.add_custom_button(__("Reject"), () =>
			frappe.prompt({ fieldname: "reason", fieldtype: "Small Text", label: __("Reason") }, (values) =>
				answer("reject", values)
			)
		);
	},
});
