/** Keeps the newest text in view while it grows, if the reader is at the end. A reader who has scrolled up is not moved. */
import { onBeforeUnmount, onMounted, type Ref, ref } from "vue";

const NEAR_PX = 72;

/** `scroller`, `content`: template refs of the box that scrolls and of what grows in it. */
export function useStickyScroll(scroller: Ref<HTMLElement | null>, content: Ref<HTMLElement | null>) {
	const isAtEnd = ref(true);
	let lastTop = 0;

	function distance() {
		const { scrollHeight, scrollTop, clientHeight } = scroller.value!;
		return scrollHeight - scrollTop - clientHeight;
	}

	function onScroll() {
		const { scrollTop } = scroller.value!;
		// Growing text also fires scroll events; only an upward movement counts as the reader's choice.
		if (scrollTop < lastTop - 2 && distance() > NEAR_PX) isAtEnd.value = false;
		else if (distance() <= NEAR_PX) isAtEnd.value = true;
		lastTop = scrollTop;
	}

	function follow() {
		if (isAtEnd.value && scroller.value) scroller.value.scrollTop = scroller.value.scrollHeight;
	}

	function goToEnd({ smooth = false } = {}) {
		isAtEnd.value = true;
		scroller.value?.scrollTo({ top: scroller.value.scrollHeight, behavior: smooth ? "smooth" : "auto" });
	}

	const observer = new ResizeObserver(follow);
	onMounted(() => {
		observer.observe(content.value!);
		observer.observe(scroller.value!);
		scroller.value!.addEventListener("scroll", onScroll, { passive: true });
		goToEnd();
	});
	onBeforeUnmount(() => {
		observer.disconnect();
		scroller.value?.removeEventListener("scroll", onScroll);
	});

	return { isAtEnd, goToEnd };
}
