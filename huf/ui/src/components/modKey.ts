/** The name of the key that shortcuts are pressed with. */
export const MOD = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl";
