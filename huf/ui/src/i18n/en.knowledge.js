/** English of the page about knowledge. */
export default {
	"knowledge.title": "Knowledge",
	"knowledge.loading": "Loading the sources",
	"knowledge.empty": "No sources yet",
	"knowledge.empty.text":
		"A source is a set of files, web pages or records that agents can search. Everybody finds only what they may read.",
	"knowledge.new": "New source",
	"knowledge.search": "Search as you",
	"knowledge.search.placeholder": 'Words, "words together", begin*',
	"knowledge.search.button": "Search",
	"knowledge.search.everywhere": "All sources",
	"knowledge.search.none": "Nothing that you may read was found",
	"knowledge.search.more": "There is more. Say more exactly what you look for.",

	"knowledge.type.Files": "Files",
	"knowledge.type.URLs": "Web pages",
	"knowledge.type.DocType": "Records",
	"knowledge.type.DocType.of": "Records of {doctype}",

	"knowledge.state.New": "Not read yet",
	"knowledge.state.Indexing": "Being read",
	"knowledge.state.Ready": "Ready",
	"knowledge.state.Failed": "Failed",
	"knowledge.state.Waiting": "Waits",
	"knowledge.state.disabled": "Disabled",
	"knowledge.counts": "{ready} of {all} read",
	"knowledge.failed": { one: "1 could not be read", other: "{count} could not be read" },
	"knowledge.items.none": "There is nothing in it yet, or nothing that you may read.",
	"knowledge.items.more": "Show more",
	"knowledge.items.remove": "Take out {title}",
	"knowledge.passages": { one: "1 passage", other: "{count} passages" },
	"knowledge.upload": "Add files",
	"knowledge.uploading": "Adding {name}",
	"knowledge.index": "Read again",
	"knowledge.change": "Change",
	"knowledge.delete.title": "Delete this source?",
	"knowledge.delete.text":
		"Nothing of “{name}” will be found any more, and its uploaded files are deleted. Records of the site stay as they are.",
	"knowledge.remove.title": "Take this out?",
	"knowledge.remove.text": "“{title}” will not be found any more. A file that was uploaded here is deleted.",
	"knowledge.remove.action": "Take out",

};
