/** The records that a run names, loaded once it has ended and provided to the texts and values below. */
import { computed, type ComputedRef, inject, type InjectionKey, provide } from "vue";
import { fetchNamedRecords } from "../api/runs.ts";
import { byText, type RecordsByText } from "../lib/recordLinks.ts";
import { useData } from "../state/queries.ts";

const KEY: InjectionKey<ComputedRef<RecordsByText>> = Symbol("named records");
const NONE = computed<RecordsByText>(() => new Map());

/** `run`: () -> the name of an ended run that has called tools, else null. */
export function provideNamedRecords(run: () => string | null): void {
	const query = useData({
		queryKey: ["runs", "records", computed(run)],
		queryFn: () => fetchNamedRecords(run()!),
		enabled: () => Boolean(run()),
		staleTime: Infinity,
	});
	provide(KEY, computed(() => byText(query.data || [])));
}

/** A computed Map: text -> {doctype, name, title}. */
export const useNamedRecords = () => inject(KEY, NONE);
