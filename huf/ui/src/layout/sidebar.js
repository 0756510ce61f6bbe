/** The sidebar's two states: put away on a wide window (remembered), drawn out over the page on a narrow one. */
import { reactive, watch } from "vue";
import { recall, remember } from "../state/storage.ts";

export const sidebar = reactive({ isCollapsed: recall("sidebar") === "collapsed", isDrawnOut: false });

/** Whether the sidebar is beside the page; as wide as the breakpoint `lg`. */
export const wide = matchMedia("(min-width: 64rem)");

/** Nothing would show that a drawer is open, and the page behind it takes no clicks. */
wide.addEventListener("change", () => (sidebar.isDrawnOut = false));

/** The palette of commands; it is fetched when it is first opened. */
export const palette = reactive({ isOpen: false, wasOpened: false });

watch(
	() => sidebar.isCollapsed,
	(isCollapsed) => remember("sidebar", isCollapsed ? "collapsed" : null),
);
