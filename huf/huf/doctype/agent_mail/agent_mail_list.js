frappe.listview_settings["Agent Mail"] = {
	add_fields: ["status"],
	hide_name_column: true,
	get_indicator({ status }) {
		const colours = {
			Queued: "blue",
			Started: "blue",
			Done: "green",
			Skipped: "gray",
			Failed: "red",
			"With Person": "orange",
			Draft: "orange",
			Approved: "blue",
			Sent: "green",
			Held: "yellow",
			Discarded: "gray",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
