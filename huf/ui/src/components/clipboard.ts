/**
 * Copies text to the clipboard, also on a site without HTTPS, where browsers offer only the old API. -> whether it worked
 */
export async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return copyBySelection(text);
	}
}

function copyBySelection(text: string): boolean {
	const focused = document.activeElement;
	const area = Object.assign(document.createElement("textarea"), { value: text, readOnly: true });
	area.style.cssText = "position:fixed;opacity:0;pointer-events:none";
	document.body.append(area);
	area.select();
	try {
		return document.execCommand("copy");
	} catch {
		return false;
	} finally {
		area.remove();
		if (focused instanceof HTMLElement) focused.focus();
	}
}
