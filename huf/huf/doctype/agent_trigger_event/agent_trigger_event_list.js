frappe.listview_settings["Agent Trigger Event"] = {
	add_fields: ["status"],
	get_indicator({ status }) {
		const colours = {
			Queued: "blue",
			Fired: "green",
			Skipped: "gray",
			Failed: "red",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
