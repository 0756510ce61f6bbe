frappe.ui.form.on("Agent Run", {
	refresh(frm) {
		frm.disable_form();
		show_cost(frm);
		frm.set_df_property("model", "description", frm.doc.model === "Offline" ? __("Offline: no model is configured") : "");
		frm.add_custom_button(__("Timeline"), () => window.open(`/huf/runs/${encodeURIComponent(frm.doc.name)}`));
		if (["max_steps", "timeout"].includes(frm.doc.stop_reason) && frm.doc.conversation) {
			frm.add_custom_button(__("Continue"), () =>
				frappe
					.call("huf.api.run.go_on", { run: frm.doc.name })
					.then(({ message }) => frappe.set_route("Form", "Agent Run", message.run))
			);
		}
		const calls = { run: frm.doc.name };
		frm.add_custom_button(__("Model Calls"), () => frappe.set_route("List", "Agent LLM Call", calls));
		frm.add_custom_button(__("Tool Calls"), () => frappe.set_route("List", "Agent Tool Call", calls));
		if (["Success", "Stopped", "Failed"].includes(frm.doc.status)) {
			for (const [label, good] of [[__("Good"), 1], [__("Bad"), 0]])
				frm.add_custom_button(label, () => mark(frm, good), __("Create Eval Case"));
		}
		if (["Queued", "Started", "Waiting"].includes(frm.doc.status)) {
			frm.add_custom_button(__("Cancel Run"), () =>
				frappe
					.call("huf.api.run.cancel", { run: frm.doc.name })
					.then(() => frm.reload_doc())
					.then(() => {
						if (frm.doc.status === "Started")
							frappe.show_alert(__("Cancellation requested. The run ends after its current step."));
					})
			);
		}
	},
});

// Calls without a known price count as 0 in the field.
function show_cost(frm) {
	const format = frappe.form.get_formatter("Currency");
	frm.set_df_property("total_cost", "formatter", (value, df, options, doc) =>
		doc?.unpriced_calls ? __("unknown") : format(value, df, options, doc)
	);
}

function mark(frm, good) {
	frappe.prompt(
		{ fieldname: "note", fieldtype: "Small Text", label: __("Why") },
		({ note }) => frappe.call("huf.api.eval.mark", { run: frm.doc.name, good, note }).then(() => frm.reload_doc()),
		__("Create Eval Case")
	);
}
