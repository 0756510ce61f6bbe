/** Scales an image down in the browser. */
import { fitWithin } from "./attachments.ts";

const MAX_PX = 2048;
const QUALITY = 0.86;

/** A File -> a smaller one as JPEG, or the same if the browser cannot read it. */
export async function shrinkPicture(file: File): Promise<File> {
	const picture = await createImageBitmap(file).catch(() => null);
	if (!picture) return file;
	const { width, height } = fitWithin(picture.width, picture.height, MAX_PX);
	const canvas = Object.assign(document.createElement("canvas"), { width, height });
	const pen = canvas.getContext("2d")!;
	// Otherwise transparent areas become black.
	pen.fillStyle = "#fff";
	pen.fillRect(0, 0, width, height);
	pen.drawImage(picture, 0, 0, width, height);
	const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
	return blob ? new File([blob], file.name.replace(/\.\w+$/, ".jpg"), { type: blob.type }) : file;
}
