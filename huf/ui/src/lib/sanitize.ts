/** The second defence: DOMPurify over the output of markdown.ts. Runs in the browser only. */
import DOMPurify from "dompurify";
import { isSafeImage } from "./markdown.ts";

const OPTIONS = {
	USE_PROFILES: { html: true, mathMl: true },
	ADD_TAGS: ["semantics"],
	ADD_ATTR: ["target"],
	FORBID_TAGS: ["style", "form", "video", "audio", "picture", "source", "select", "textarea", "dialog"],
	FORBID_ATTR: ["style", "id", "name", "srcset", "background", "action", "formaction"],
};

DOMPurify.addHook("afterSanitizeAttributes", (node) => {
	if (node.tagName === "A") {
		node.setAttribute("target", "_blank");
		node.setAttribute("rel", "noopener noreferrer");
	}
	if (node.tagName === "IMG" && !isSafeImage(node.getAttribute("src") || "")) node.remove();
});

export function sanitize(html: string): string {
	return DOMPurify.sanitize(html, OPTIONS);
}
