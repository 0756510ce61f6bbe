/** Draws Mermaid diagrams as pictures. The library is a script of its own that is fetched with the first diagram. */
import address from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

interface Mermaid {
	initialize: (options: object) => void;
	render: (id: string, source: string) => Promise<{ svg: string }>;
}

/** Labels of SVG, because a picture shows no HTML; no scripts, no links. */
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

/** The address of a picture of a diagram that `isDrawable`; null if it cannot be drawn, as while it is still being written. */
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
