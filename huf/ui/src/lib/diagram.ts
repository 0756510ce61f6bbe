/** Draws Mermaid diagrams as images. The library is a separate script that loads with the first diagram. */
import address from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

interface Mermaid {
	initialize: (options: object) => void;
	render: (id: string, source: string) => Promise<{ svg: string }>;
}

/** SVG labels, because an image shows no HTML; no scripts, no links. */
const OPTIONS = {
	startOnLoad: false,
	securityLevel: "strict",
	htmlLabels: false,
	flowchart: { htmlLabels: false },
	suppressErrorRendering: true,
	fontFamily: "sans-serif",
};

let loading: Promise<Mermaid> | null = null;
let count = 0;

function loadMermaid(): Promise<Mermaid> {
	loading ||= new Promise<Mermaid>((resolve, reject) => {
		const script = Object.assign(document.createElement("script"), { src: address });
		script.onload = () => resolve((globalThis as unknown as { mermaid: Mermaid }).mermaid);
		script.onerror = () => {
			loading = null;
			reject(new Error("Mermaid could not be fetched"));
		};
		document.head.append(script);
	});
	return loading;
}

/** The URL of an image of a diagram that `isDrawable`; null if it cannot be drawn, for example while it is incomplete. */
export async function drawDiagram(source: string, isDark: boolean): Promise<string | null> {
	const mermaid = await loadMermaid();
	mermaid.initialize({ ...OPTIONS, theme: isDark ? "dark" : "default" });
	try {
		const { svg } = await mermaid.render(`diagram-${count++}`, source);
		return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
	} catch {
		return null;
	}
}
