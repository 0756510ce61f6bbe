/** English of the palette of commands. */
export default {
	"palette.title": "Go to or do",
	"palette.placeholder": "Go to a page, an agent, a record …",
	"palette.none": "Nothing found",
	"palette.talk": "Talk to {agent}",
	"palette.new-agent": "New agent",
	"palette.new-trigger": "New trigger",
	"palette.new-tool": "New tool",
	"palette.kind.agent": "Agent",
	"palette.kind.trigger": "Trigger",
	"palette.kind.tool": "Tool",
	"palette.kind.conversation": "Conversation",
	"palette.kind.run": "Run",
	"palette.kind.record": "Record",
	"palette.kind.doctype": "Records",
};
