frappe.ui.form.on("Agent Mailbox", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.add_custom_button(__("Test"), async () => {
			const { message } = await frappe.call("huf.api.mail.test_mailbox", { mailbox: frm.doc.name });
			// Errors hold what the mail server said.
			const escape = frappe.utils.escape_html;
			const lines = message.map((part) => `${escape(part.part)}: ${escape(part.error || __("works"))}`);
			frappe.msgprint(lines.join("<br>"));
		});
		frm.add_custom_button(__("Fetch"), () =>
			frappe
				.call("huf.api.mail.sync_mailbox", { mailbox: frm.doc.name })
				.then(() => frappe.show_alert(__("Queued. This may take a minute.")))
		);
	},
});
