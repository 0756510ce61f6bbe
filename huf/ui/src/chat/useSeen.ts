/** Whether an element is within `margin` pixels of the visible part of its scroller. */
import { onBeforeUnmount, onMounted, type Ref, ref, watch } from "vue";

export function useSeen(element: Ref<Element | null>, scroller: Ref<Element | null>, margin: number) {
	const isSeen = ref(false);
	let observer: IntersectionObserver;

	onMounted(() => {
		const options = { root: scroller.value, rootMargin: `${margin}px 0px` };
		observer = new IntersectionObserver((entries) => (isSeen.value = entries.at(-1)!.isIntersecting), options);
		watch(
			element,
			(now, before) => {
				if (before) observer.unobserve(before);
				if (now) observer.observe(now);
				else isSeen.value = false;
			},
			{ immediate: true },
		);
	});
	onBeforeUnmount(() => observer?.disconnect());

	return isSeen;
}
