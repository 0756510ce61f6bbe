frappe.provide("frappe.dashboards.chart_sources");

frappe.dashboards.chart_sources["Agent Days"] = {
	method: "huf.api.desk.get_days",
	filters: [
		{
			fieldname: "figure",
			label: __("Figure"),
			fieldtype: "Select",
			options: [
				{ value: "runs", label: __("Runs") },
				{ value: "cost", label: __("Cost (USD)") },
			],
			default: "runs",
		},
	],
};
