/** The sidebar's two states: collapsed on a wide window (remembered), open over the page on a narrow one. */
import { reactive, watch } from "vue";
import { recall, remember } from "../state/storage.ts";

export const sidebar = reactive({ isCollapsed: recall("sidebar") === "collapsed", isDrawnOut: false });

/** Whether the sidebar is beside the page; same width as the breakpoint `lg`. */
export const wide = matchMedia("(min-width: 64rem)");

/** Otherwise an invisible drawer would be open, and the page behind it would take no clicks. */
wide.addEventListener("change", () => (sidebar.isDrawnOut = false));

/** The command palette; it loads when it is first opened. */
export const palette = reactive({ isOpen: false, wasOpened: false });

watch(
	() => sidebar.isCollapsed,
	(isCollapsed) => remember("sidebar", isCollapsed ? "collapsed" : null),
);
