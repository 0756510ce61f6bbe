frappe.ui.form.on("Agent Chat", {
	refresh(frm) {
		frm.disable_save();
		show_chat(frm);
	},
	agent(frm) {
		show_chat(frm);
	},
});

// The form embeds the chat page.
function show_chat(frm) {
	const agent = frm.doc.agent ? `&agent=${encodeURIComponent(frm.doc.agent)}` : "";
	const frame = document.createElement("iframe");
	frame.src = `/huf/chat?embed=1${agent}`;
	frame.title = __("Chat");
	frame.style.cssText = "width: 100%; height: 70vh; border: 0; border-radius: 8px";
	frm.get_field("chat").$wrapper.empty().append(frame);
}
