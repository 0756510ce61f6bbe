frappe.listview_settings["Knowledge Source"] = {
	add_fields: ["state"],
	hide_name_column: true,
	get_indicator({ state }) {
		const colours = {
			New: "gray",
			Indexing: "blue",
			Ready: "green",
			Failed: "red",
		};
		return [__(state), colours[state] || "gray", `state,=,${state}`];
	},
};
