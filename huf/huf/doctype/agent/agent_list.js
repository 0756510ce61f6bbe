frappe.listview_settings["Agent"] = {
	add_fields: ["disabled"],
	hide_name_column: true,
	get_indicator: ({ disabled }) =>
		disabled ? [__("Disabled"), "gray", "disabled,=,1"] : [__("Enabled"), "green", "disabled,=,0"],
};
