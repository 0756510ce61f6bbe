const call = (method, args) => frappe.call(`huf.api.mcp_connection.${method}`, args);

frappe.ui.form.on("MCP Server Connection", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.set_df_property("tools", "cannot_add_rows", true);
		const connection = frm.doc.name;
		frm.add_custom_button(__("Fetch Tools"), async () => {
			const { message } = await call("refresh", { connection });
			await frm.reload_doc();
			// Both are what the server says.
			const escape = frappe.utils.escape_html;
			frappe.msgprint(escape(message.error || "") || __("Connected to {0}.", [escape(message.server || "")]));
		});
		if (frm.doc.auth === "OAuth" && frm.doc.grant === "Authorization Code") {
			frm.add_custom_button(__("Sign In"), async () => {
				const { message } = await call("sign_in", { connection });
				if (message) window.location.assign(message);
				else frappe.show_alert(__("The server requires no sign-in."));
			});
		}
	},
});
