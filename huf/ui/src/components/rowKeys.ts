/** Moves up and down a list with the arrow keys or j and k, over the elements marked with data-row. */
const STEPS: Record<string, number> = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 };

export function moveByKeys(event: KeyboardEvent): void {
	const step = STEPS[event.key];
	const row = (event.target as Element).closest?.("[data-row]");
	if (!step || !row || event.metaKey || event.ctrlKey || event.altKey) return;
	const rows = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[data-row]")];
	const next = rows[rows.indexOf(row as HTMLElement) + step];
	if (!next) return;
	event.preventDefault();
	next.focus();
}
