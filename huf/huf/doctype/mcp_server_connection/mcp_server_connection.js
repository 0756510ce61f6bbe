const call = (method, args) => frappe.call(`huf.api.mcp_connection.${method}`, args);

frappe.ui.form.on("MCP Server Connection", {
	refresh(frm) {
		if (frm.is_new()) return;
		frm.set_df_property("tools", "cannot_add_rows", true);
		const connection = frm.doc.name;
		frm.add_custom_button(__("Test and Refresh"), async () => {
			const { message } = await call("refresh", { connection });
			await frm.reload_doc();
			frappe.msgprint(message.error || __("Connected to {0}.", [message.server]));
		});
		if (frm.doc.auth === "OAuth" && frm.doc.grant === "Authorization Code") {
			frm.add_custom_button(__("Sign In"), async () => {
				const { message } = await call("sign_in", { connection });
				window.location.assign(message);
			});
		}
	},
});
