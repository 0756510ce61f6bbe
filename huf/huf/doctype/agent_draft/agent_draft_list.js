frappe.listview_settings["Agent Draft"] = {
	add_fields: ["status"],
	hide_name_column: true,
	get_indicator({ status }) {
		const colours = {
			Pending: "orange",
			Approved: "blue",
			Applied: "green",
			Rejected: "gray",
			Failed: "red",
			Expired: "gray",
		};
		return [__(status), colours[status] || "gray", `status,=,${status}`];
	},
};
