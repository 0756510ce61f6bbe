frappe.ui.form.on("Agent Mailbox", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Test"), async () => {
			const { message } = await frappe.call("huf.api.mail.test_mailbox", { mailbox: frm.doc.name });
			frappe.msgprint(message.map((part) => `${part.part}: ${part.error || __("works")}`).join("<br>"));
		});
		frm.add_custom_button(__("Fetch"), () =>
			frappe
				.call("huf.api.mail.sync_mailbox", { mailbox: frm.doc.name })
				.then(() => frappe.show_alert(__("Queued. This may take a minute.")))
		);
	},
});
