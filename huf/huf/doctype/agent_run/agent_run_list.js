frappe.listview_settings["Agent Run"] = {
	add_fields: ["status", "unpriced_calls", "currency"],
	formatters: {
		total_cost: (value, df, doc) => (doc.unpriced_calls ? __("unknown") : frappe.format(value, df, null, doc)),
	},
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
