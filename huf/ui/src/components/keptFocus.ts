/**
 * Returns the focus to a button that lost it by being disabled. Buttons are disabled while they work; the browser
 * then moves the focus to the page, and the next Tab would begin at its top.
 */
export function keepButtonFocus(): void {
	let button: HTMLButtonElement | null = null;
	addEventListener("pointerdown", () => (button = null));
	addEventListener("focusin", ({ target }) => (button = target instanceof HTMLButtonElement ? target : null));
	new MutationObserver(() => {
		if (button && !button.disabled && document.activeElement === document.body) button.focus({ preventScroll: true });
	}).observe(document.body, { subtree: true, attributeFilter: ["disabled"] });
}
