// Types whose effect depends on the function or service behind the tool.
const OWN_EFFECT = ["Custom Function", "App Provided", "GET", "POST", "Run Agent"];

frappe.ui.form.on("Agent Tool Function", {
	refresh(frm) {
		frm.toggle_enable("effect", OWN_EFFECT.includes(frm.doc.types));
		if (frm.is_new()) return;
		const page = `/huf/tools/${encodeURIComponent(frm.doc.name)}`;
		frm.add_custom_button(__("Try It"), () => window.open(page, "_blank", "noopener"));
	},
	types(frm) {
		frm.toggle_enable("effect", OWN_EFFECT.includes(frm.doc.types));
		frm.set_value("effect", "");
	},
});
