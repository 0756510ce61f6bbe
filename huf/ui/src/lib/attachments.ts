/** Checks whether a file can be attached to a message, by the site's limits; see huf/ai/core/attachments.py. Pure. */

/** The site's limits; sizes in bytes, endings without a dot. */
export interface Limits {
	endings: string[];
	images: string[];
	max_files: number;
	max_bytes: number;
	max_image_bytes: number;
}

export const NO_LIMITS: Limits = { endings: [], images: [], max_files: 0, max_bytes: 0, max_image_bytes: 0 };

function extensionOf(name: string): string {
	const parts = String(name || "").split(".");
	return parts.length > 1 ? parts.at(-1)!.toLowerCase() : "";
}

export const isImage = (name: string, limits: Limits) => limits.images.includes(extensionOf(name));

/** For the `accept` of a file input. */
export const acceptedEndings = (limits: Limits) => [...limits.endings, ...limits.images].map((ending) => `.${ending}`).join(",");

/** Why a file cannot be attached -> {key, values} of a text, or null. `count`: files attached already. */
export function problemOf(
	{ name, size }: { name: string; size: number },
	limits: Limits,
	count = 0,
	locale = "en",
): { key: string; values?: Record<string, string | number> } | null {
	if (count >= limits.max_files) return { key: "attach.too_many", values: { max: limits.max_files } };
	const image = isImage(name, limits);
	if (!image && !limits.endings.includes(extensionOf(name))) return { key: "attach.type" };
	if (!size) return { key: "attach.empty" };
	const max = image ? limits.max_image_bytes : limits.max_bytes;
	return size > max ? { key: "attach.too_large", values: { max: formatSize(max, locale) } } : null;
}

/** 1234567 -> "1.2 MB", in the user's locale. */
export function formatSize(bytes: number, locale = "en"): string {
	const [unit, value] = bytes < 1e6 ? ["kilobyte", Math.max(bytes / 1e3, 0.1)] : ["megabyte", bytes / 1e6];
	const digits = value < 10 ? 1 : 0;
	return new Intl.NumberFormat(locale, { style: "unit", unit, maximumFractionDigits: digits }).format(value);
}

/** The size of an image scaled down so that neither side is longer than `max`. */
export function fitWithin(width: number, height: number, max: number) {
	const scale = Math.min(1, max / Math.max(width, height));
	return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}

/** The files of a paste or drop that are to be attached: none if it has text as well, because then the text is meant. */
export function filesOf(transfer: DataTransfer | null): File[] {
	const isText = [...(transfer?.types || [])].includes("text/plain");
	return isText ? [] : [...(transfer?.files || [])];
}
