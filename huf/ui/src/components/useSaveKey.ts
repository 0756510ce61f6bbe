/** Ctrl+S, or Cmd+S, saves while the component is on the page. */
import { onBeforeUnmount, onMounted } from "vue";

export function useSaveKey(save: () => unknown): void {
	function onKey(event: KeyboardEvent): void {
		if (!(event.metaKey || event.ctrlKey) || event.shiftKey || event.key.toLowerCase() !== "s") return;
		event.preventDefault();
		save();
	}
	onMounted(() => addEventListener("keydown", onKey));
	onBeforeUnmount(() => removeEventListener("keydown", onKey));
}
