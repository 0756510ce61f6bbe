frappe.listview_settings["Agent LLM Call"] = {
	add_fields: ["status"],
	get_indicator({ status }) {
		const colours = {
			Started: "blue",
			Success: "green",
			Failed: "red",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
