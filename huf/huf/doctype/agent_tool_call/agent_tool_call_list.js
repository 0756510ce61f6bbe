frappe.listview_settings["Agent Tool Call"] = {
	add_fields: ["status"],
	get_indicator({ status }) {
		const colours = {
			Started: "blue",
			Success: "green",
			Failed: "red",
			Refused: "orange",
			Unknown: "yellow",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
