// Runs before the first paint, so that a dark page never flashes white.
(function () {
	let stored = null;
	try {
		stored = localStorage.getItem("huf:theme");
	} catch (error) {
		// storage may be forbidden
	}
	const prefersDark = matchMedia("(prefers-color-scheme: dark)").matches;
	const isDark = stored === "dark" || (stored !== "light" && prefersDark);
	document.documentElement.dataset.theme = isDark ? "dark" : "light";
})();
