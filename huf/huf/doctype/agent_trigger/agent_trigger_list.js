frappe.listview_settings["Agent Trigger"] = {
	add_fields: ["disabled"],
	get_indicator: ({ disabled }) =>
		disabled ? [__("Disabled"), "gray", "disabled,=,1"] : [__("Enabled"), "green", "disabled,=,0"],
};
