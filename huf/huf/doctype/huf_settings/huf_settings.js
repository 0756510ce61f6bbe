frappe.ui.form.on("Agent Route Pattern", {
	// The Desk reads a default in the site's number format: 0.9 is 9 where the point separates thousands.
	route_patterns_add(frm, doctype, name) {
		const row = locals[doctype][name];
		if (row.confidence === flt("0.9")) row.confidence = 0.9;
	},
});
