/** Realtime events of the site invalidate queries. */
import { invalidate } from "./queries.ts";
import { onDraftNews, onReturn, onRunNews, onStopNews } from "./realtime.ts";

/** Several events of a run arrive within moments. */
const PAUSE_MS = 200;
const stale = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function invalidateSoon(...areas: string[]): void {
	areas.forEach((area) => stale.add(area));
	clearTimeout(timer);
	timer = setTimeout(() => {
		stale.forEach((area) => invalidate(area));
		stale.clear();
	}, PAUSE_MS);
}

/** Called once by the app. */
export function followNews(): void {
	onReturn(() => invalidate());
	onDraftNews(() => invalidateSoon("drafts", "home"));
	onStopNews(() => invalidateSoon("stops", "runs"));
	onRunNews(({ kind }) => {
		if (kind.startsWith("run_") || kind === "draft_created") invalidateSoon("runs", "drafts", "home");
	});
}
