frappe.query_reports["Agent Costs"] = {
	filters: [
		{
			fieldname: "from_date",
			label: __("From"),
			fieldtype: "Date",
			default: frappe.datetime.add_days(frappe.datetime.get_today(), -30),
		},
		{ fieldname: "to_date", label: __("To"), fieldtype: "Date" },
		{
			fieldname: "group_by",
			label: __("Group By"),
			fieldtype: "Select",
			options: ["Agent", "Model", "User", "Trigger"],
			default: "Agent",
		},
	],
};
