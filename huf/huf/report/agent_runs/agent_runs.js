frappe.query_reports["Agent Runs"] = {
	filters: [
		{
			fieldname: "from_date",
			label: __("From"),
			fieldtype: "Date",
			default: frappe.datetime.add_days(frappe.datetime.get_today(), -30),
		},
		{ fieldname: "to_date", label: __("To"), fieldtype: "Date" },
		{ fieldname: "agent", label: __("Agent"), fieldtype: "Link", options: "Agent" },
		{
			fieldname: "status",
			label: __("Status"),
			fieldtype: "Select",
			options: ["", "Queued", "Started", "Waiting", "Success", "Stopped", "Failed", "Cancelled"],
		},
	],
};
