/**
 * Light, dark or the system's theme. index.html sets the initial theme before the first paint; this module changes it. The
 * choice belongs to the browser, not to the user, so that the sign-in page shares it.
 */
import { ref, watch } from "vue";

const KEY = "huf:theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export const THEMES = ["system", "light", "dark"];
export const theme = ref(read());
export const isDark = ref(document.documentElement.dataset.theme === "dark");

function read() {
	try {
		const stored = localStorage.getItem(KEY);
		return stored && THEMES.includes(stored) ? stored : "system";
	} catch {
		return "system";
	}
}

function apply() {
	isDark.value = theme.value === "dark" || (theme.value === "system" && system.matches);
	document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
}

export function toggleTheme() {
	theme.value = isDark.value ? "light" : "dark";
}

watch(theme, (value) => {
	try {
		localStorage.setItem(KEY, value);
	} catch {
		// Not remembered, but still applied.
	}
	apply();
});
system.addEventListener("change", apply);
