/** What can be attached to a message: by the limits of the site, see huf/ai/attachments.py. Pure. */

/** What the site takes; sizes in bytes, endings without a dot. */
export interface Limits {
	endings: string[];
	pictures: string[];
	most_files: number;
	most_bytes: number;
	most_picture_bytes: number;
}

export const NO_LIMITS: Limits = { endings: [], pictures: [], most_files: 0, most_bytes: 0, most_picture_bytes: 0 };

export function endingOf(name: string): string {
	const parts = String(name || "").split(".");
	return parts.length > 1 ? parts.at(-1)!.toLowerCase() : "";
}

export const isPicture = (name: string, limits: Limits) => limits.pictures.includes(endingOf(name));

/** For the `accept` of a file input. */
export const acceptedEndings = (limits: Limits) => [...limits.endings, ...limits.pictures].map((ending) => `.${ending}`).join(",");

/** Why a file cannot be attached -> {key, values} of a text, or nothing. `count`: how many there are already. */
export function problemOf(
	{ name, size }: { name: string; size: number },
	limits: Limits,
	count = 0,
): { key: string; values?: Record<string, string | number> } | null {
	if (count >= limits.most_files) return { key: "attach.too_many", values: { most: limits.most_files } };
	const picture = isPicture(name, limits);
	if (!picture && !limits.endings.includes(endingOf(name))) return { key: "attach.type" };
	if (!size) return { key: "attach.empty" };
	const most = picture ? limits.most_picture_bytes : limits.most_bytes;
	return size > most ? { key: "attach.too_large", values: { most: formatSize(most) } } : null;
}

/** 1234567 -> "1.2 MB", as the person writes numbers. */
export function formatSize(bytes: number, locale = "en"): string {
	const [unit, value] = bytes < 1e6 ? ["kilobyte", Math.max(bytes / 1e3, 0.1)] : ["megabyte", bytes / 1e6];
	const digits = value < 10 ? 1 : 0;
	return new Intl.NumberFormat(locale, { style: "unit", unit, maximumFractionDigits: digits }).format(value);
}

/** How large a picture may be drawn, so that neither side is longer than `most`. */
export function fitWithin(width: number, height: number, most: number) {
	const scale = Math.min(1, most / Math.max(width, height));
	return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** What of a transfer (paste, drop) is to be attached: where there is text as well, the text is meant. */
export function filesOf(transfer: DataTransfer | null): File[] {
	const isText = [...(transfer?.types || [])].includes("text/plain");
	return isText ? [] : [...(transfer?.files || [])];
}
