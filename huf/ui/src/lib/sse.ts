/**
 * Reads the text of an event stream (text/event-stream). Takes pieces of any size, cut anywhere, and calls back once per
 * whole message. Knows nothing of fetch, JSON or Huf. An unfinished message at the end of the stream is dropped, as the
 * standard asks.
 */

interface SseMessage {
	id: string;
	event: string;
	data: string;
}

export interface SseParser {
	feed: (piece: string) => void;
}

export function createSseParser({
	onMessage,
	onComment = () => {},
}: {
	onMessage: (message: SseMessage) => void;
	onComment?: () => void;
}): SseParser {
	let rest = "";
	let isFirst = true;
	let lastId = "";
	let event = "";
	let data: string[] = [];

	function dispatch() {
		if (data.length) onMessage({ id: lastId, event: event || "message", data: data.join("\n") });
		event = "";
		data = [];
	}

	const fields: Record<string, (value: string) => unknown> = {
		id: (value) => (lastId = value),
		event: (value) => (event = value),
		data: (value) => data.push(value),
	};

	function readLine(line: string): void {
		if (line === "") return dispatch();
		if (line.startsWith(":")) return onComment();
		const colon = line.indexOf(":");
		const name = colon < 0 ? line : line.slice(0, colon);
		const value = colon < 0 ? "" : line.slice(colon + 1);
		fields[name]?.(value.startsWith(" ") ? value.slice(1) : value);
	}

	return {
		feed(piece) {
			if (isFirst && piece) {
				piece = piece.replace(/^\uFEFF/, "");
				isFirst = false;
			}
			rest += piece;
			// A carriage return at the very end may be half of a CRLF: it waits for the next piece.
			const end = rest.endsWith("\r") ? rest.length - 1 : rest.length;
			const lines = rest.slice(0, end).split(/\r\n|\n|\r/);
			rest = lines.pop()! + rest.slice(end);
			lines.forEach(readLine);
		},
	};
}
