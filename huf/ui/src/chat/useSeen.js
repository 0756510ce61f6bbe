/** Whether an element is within `margin` pixels of the visible part of its scroller. */
import { onBeforeUnmount, onMounted, ref, watch } from "vue";

export function useSeen(element, scroller, margin) {
	const isSeen = ref(false);
	let observer;

	onMounted(() => {
		const options = { root: scroller.value, rootMargin: `${margin}px 0px` };
		observer = new IntersectionObserver((entries) => (isSeen.value = entries.at(-1).isIntersecting), options);
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
