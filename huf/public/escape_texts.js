// Rows of these DocTypes hold texts of mails, models and pages as they came. Frappe cleans texts when documents are
// saved, so its lists and reports show them as HTML; these rows are written by SQL.
(() => {
	const TYPES = ["Data", "Small Text", "Text", "Long Text"];
	const show = (value) => frappe.utils.escape_html(String(value ?? "")).replace(/\n/g, "<br>");
	for (const [doctype, fields] of Object.entries(frappe.meta.docfield_map)) {
		if (!doctype.startsWith("Agent ") && !doctype.startsWith("Knowledge ")) continue;
		for (const field of Object.values(fields)) if (TYPES.includes(field.fieldtype)) field.formatter ||= show;
	}
})();
