/** A line diff of two texts. Pure. */

interface DiffLine {
	kind: "same" | "add" | "remove";
	text: string;
}

export function diffLines(before: string, after: string): DiffLine[] {
	const [left, right] = [before, after].map((text) => (text ? text.split("\n") : []));
	const lengths = commonLengths(left, right);
	const lines: DiffLine[] = [];
	let [i, j] = [0, 0];
	while (i < left.length || j < right.length) {
		if (i < left.length && j < right.length && left[i] === right[j]) {
			lines.push({ kind: "same", text: left[i] });
			i += 1;
			j += 1;
		} else if (j >= right.length || (i < left.length && lengths[i + 1][j] >= lengths[i][j + 1])) {
			lines.push({ kind: "remove", text: left[i++] });
		} else {
			lines.push({ kind: "add", text: right[j++] });
		}
	}
	return lines;
}

/** The length of the longest common subsequence of the rest of both, from each position. */
function commonLengths(left: string[], right: string[]): number[][] {
	const lengths = Array.from({ length: left.length + 1 }, () => new Array<number>(right.length + 1).fill(0));
	for (let i = left.length - 1; i >= 0; i--)
		for (let j = right.length - 1; j >= 0; j--)
			lengths[i][j] = left[i] === right[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
	return lengths;
}
