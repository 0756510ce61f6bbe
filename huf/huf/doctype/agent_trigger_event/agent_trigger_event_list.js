const event_names = {
	after_insert: __("Created"),
	on_update: __("Created or saved"),
	on_change: __("Changed, including by code"),
	on_submit: __("Submitted"),
	on_update_after_submit: __("Changed after submit"),
	on_cancel: __("Cancelled"),
	on_trash: __("Before deletion"),
	after_delete: __("Deleted"),
	webhook: __("Webhook"),
	manual: __("Manual"),
};

frappe.listview_settings["Agent Trigger Event"] = {
	add_fields: ["status"],
	formatters: {
		event: (value) => event_names[value] || frappe.utils.escape_html(value || ""),
	},
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
