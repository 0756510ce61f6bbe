frappe.ui.form.on("Agent Draft", {
	refresh(frm) {
		frm.disable_form();
		show_difference(frm);
		if (frm.doc.status !== "Pending") return;
		// Frappe displays errors; in either case the form reloads to show the draft's current state.
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

// A preview above the fields. Child table rows and other details are on the approvals page.
function show_difference(frm) {
	const { changes = [], request } = JSON.parse(frm.doc.difference || "{}");
	const raw = request ? `<pre>${frappe.utils.escape_html(JSON.stringify(request, null, 2))}</pre>` : "";
	const page = `/huf/drafts/${encodeURIComponent(frm.doc.name)}`;
	const link = `<a href="${page}" target="_blank" rel="noopener">${__("Open on the approvals page")}</a>`;
	frm.dashboard.add_section(changes.map(describe).join("") + raw + link, __("Preview"));
	frm.dashboard.show();
}

function describe({ action, doctype, name, fields, provisional }) {
	const text = (value) => frappe.utils.escape_html(`${value ?? ""}`);
	const rows = fields.map(
		({ label, before, after }) =>
			`<tr><td>${text(__(label))}</td><td class="text-muted">${text(before)}</td><td>${text(after)}</td></tr>`
	);
	const head = ["Field", "Before", "After"].map((word) => `<th>${__(word)}</th>`).join("");
	const title = [__(frappe.utils.to_title_case(action)), __(doctype), provisional ? "" : name].map(text).join(" ");
	return `<h5>${title}</h5><table class="table table-bordered table-sm"><tr>${head}</tr>${rows.join("")}</table>`;
}
