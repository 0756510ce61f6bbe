const call = (method, args) => frappe.call(`huf.api.trigger.${method}`, args).then((answer) => answer.message);
const escape = frappe.utils.escape_html;

frappe.ui.form.on("Agent Trigger", {
	refresh(frm) {
		frm.events.show_address(frm);
		if (frm.doc.trigger_type === "Webhook" && !frm.doc.webhook_secret) {
			frm.add_custom_button(__("Generate Secret"), () => frm.events.make_secret(frm));
		}
		if (["Doc Event", "Schedule"].includes(frm.doc.trigger_type)) {
			frm.add_custom_button(__("Backtest"), () => frm.events.backtest(frm));
		}
		if (frm.is_new()) return;
		frm.add_custom_button(__("Fire Now"), () => frm.events.fire(frm));
		frm.add_custom_button(__("Events"), () =>
			frappe.set_route("List", "Agent Trigger Event", { trigger: frm.doc.name })
		);
	},

	trigger_type(frm) {
		frm.refresh();
	},

	// Asks once: a trigger that Administrator tries out with their own changes would start nothing.
	before_save(frm) {
		const { trigger_type, run_as } = frm.doc;
		if (!frm.is_new() || trigger_type !== "Doc Event" || run_as || frappe.session.user !== "Administrator") return;
		return new Promise((resolve) => {
			const go_back = () => {
				frappe.validated = false;
				frm.scroll_to_field("run_as");
				resolve();
			};
			const text = __("Run As is blank: changes by Administrator will start no agent. Save anyway?");
			frappe.confirm(text, resolve, go_back);
		});
	},

	show_address(frm) {
		if (frm.doc.trigger_type !== "Webhook" || !frm.doc.webhook_slug) return;
		const address = `${window.location.origin}/agent/hook/${frm.doc.webhook_slug}`;
		frm.set_intro(__("Send deliveries by POST to {0}", [`<code>${escape(address)}</code>`]));
	},

	make_secret(frm) {
		const bytes = window.crypto.getRandomValues(new Uint8Array(24));
		const secret = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
		frm.set_value("webhook_secret", secret);
		frappe.msgprint(__("Copy the secret now. It will not be shown again: {0}", [`<code>${secret}</code>`]));
	},

	fire(frm) {
		const fields =
			frm.doc.trigger_type === "Doc Event"
				? [{ fieldname: "document", fieldtype: "Link", options: frm.doc.reference_doctype, reqd: 1, label: __("Document") }]
				: [{ fieldname: "payload", fieldtype: "Code", options: "JSON", label: __("Payload") }];
		const key = frappe.utils.get_random(20);
		frappe.prompt(
			fields,
			(values) =>
				call("fire", { trigger: frm.doc.name, key, ...values }).then((event) => {
					if (event.reason) frappe.msgprint(escape(event.reason));
					else frappe.show_alert({ message: __("Trigger fired"), indicator: "green" });
				}),
			__("Fire Now"),
			__("Fire")
		);
	},

	backtest(frm) {
		const values = frm.is_dirty() || frm.is_new() ? { values: JSON.stringify(frm.doc) } : { trigger: frm.doc.name };
		call("backtest", values).then((found) => {
			const rows = found.examples.map((one) => `<li>${escape([one.at, one.name, one.by].filter(Boolean).join(" · "))}</li>`);
			const notes = found.notes.map((note) => `<p class="text-muted">${escape(note)}</p>`);
			frappe.msgprint({
				title: __("Backtest"),
				message: `<p>${escape(found.summary)}</p><ul>${rows.join("")}</ul>${notes.join("")}`,
			});
		});
	},
});
