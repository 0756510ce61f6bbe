/** The sidebar's two states: put away on a wide window (remembered), drawn out over the page on a narrow one. */
import { reactive, watch } from "vue";
import { recall, remember } from "../state/storage.js";

export const sidebar = reactive({ isCollapsed: recall("sidebar") === "collapsed", isDrawnOut: false });

watch(
	() => sidebar.isCollapsed,
	(isCollapsed) => remember("sidebar", isCollapsed ? "collapsed" : null),
);
