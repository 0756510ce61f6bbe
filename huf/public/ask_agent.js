// "Ask an agent about this": in the sidebar and the menu of every saved document, and in the awesomebar. It opens the
// chat with a prefilled message and sends nothing. The site's permissions decide what the agent may read.
frappe.provide("huf");

huf.ask = (words) => window.open(`/huf/chat?prompt=${encodeURIComponent(words)}`, "_blank", "noopener");

huf.ask_about = (doctype, name) => huf.ask(`${__("About")} ${doctype} "${name}":\n`);

huf.may_ask = () => ["Huf User", "Huf Manager", "System Manager"].some((role) => frappe.user.has_role(role));

$(document).on("form-refresh", (_event, frm) => {
	if (frm.is_new() || frm.meta.issingle || !huf.may_ask()) return;
	const label = __("Ask an agent about this");
	const ask = () => huf.ask_about(frm.doctype, frm.docname);
	frm.page.add_menu_item(label, ask);
	// A form may have no sidebar, or replace it.
	if (frm.sidebar?.add_user_action && !frm.sidebar.user_actions.find(".huf-ask").length) {
		frm.sidebar.add_user_action(frappe.utils.escape_html(label), ask).addClass("huf-ask");
	}
});

// Extends AwesomeBar.add_defaults; without that method there is no such row.
const bar = frappe.search?.AwesomeBar?.prototype;
if (bar?.add_defaults) {
	const add_defaults = bar.add_defaults;
	bar.add_defaults = function (text) {
		add_defaults.call(this, text);
		if (!huf.may_ask()) return;
		const about = window.cur_frm && frappe.get_route()[0] === "Form" && !cur_frm.is_new() ? cur_frm : null;
		const words = about ? `${__("About")} ${about.doctype} "${about.docname}":\n${text}` : text;
		this.options.push({
			label: __("Ask an agent: {0}", [frappe.utils.escape_html(text)]),
			value: `${__("Ask an agent")} ${text}`,
			index: 2,
			match: text,
			onclick: () => huf.ask(words),
		});
	};
}
