frappe.query_reports["Agent Tool Failures"] = {
	filters: [
		{
			fieldname: "from_date",
			label: __("From"),
			fieldtype: "Date",
			default: frappe.datetime.add_days(frappe.datetime.get_today(), -30),
		},
		{ fieldname: "to_date", label: __("To"), fieldtype: "Date" },
		{ fieldname: "tool", label: __("Tool"), fieldtype: "Data" },
	],
};
