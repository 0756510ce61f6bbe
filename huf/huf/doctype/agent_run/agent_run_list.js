frappe.listview_settings["Agent Run"] = {
	add_fields: ["status"],
	hide_name_column: true,
	get_indicator({ status }) {
		const colours = {
			Queued: "gray",
			Started: "blue",
			Waiting: "orange",
			Success: "green",
			Stopped: "yellow",
			Failed: "red",
			Cancelled: "gray",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
