"""`scripts/screenshots [README | helena | PAGE ...]` renews the README's pictures and docs/screenshots from
fresh sites.
"""

import base64
import sys
import tempfile
from pathlib import Path

from huf.embedded.tests.browser import open_page, say, sign_in
from huf.embedded.tests.office import ANSWER_TIMEOUT_MS, PROMPTS, SCRIPT, open_office
from huf.embedded.tests.server_test import Server
from huf.embedded.tests.showcase import PAGES, PageOf, Showcase, open_showcase
from huf.tests.model_answers import text
from huf.tests.ports import find_free_port

DOCS = Path(__file__).resolve().parents[3] / "docs"
SHOTS = DOCS / "screenshots"
PASSWORD = "only for the picture 1"
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844, "has_touch": True}
VARIANTS = {
	"light": {**DESK, "color_scheme": "light"},
	"dark": {**DESK, "color_scheme": "dark"},
	"phone": {**PHONE, "color_scheme": "light"},
	"phone-dark": {**PHONE, "color_scheme": "dark"},
}
QUALITY = 72
MAX_BYTES = 4_000_000
TO_THE_BEGINNING = "() => document.querySelector('[data-testid=message-user]').scrollIntoView()"
"""Not by Playwright, which waits until an element is stable: a long list replaces its elements."""


def take_readme_picture() -> None:
	with tempfile.TemporaryDirectory(prefix="huf-pictures-") as home:
		server = Server(Path(home), find_free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
		try:
			with open_page(server.url, width=1200, height=1150) as page:
				sign_in(page, PASSWORD)
				say(page, "How many users are there?")
				say(page, "Create a todo to call Anna tomorrow")
				page.evaluate(TO_THE_BEGINNING)
				page.screenshot(path=DOCS / "chat.png")
		finally:
			server.stop()


def take_office_picture() -> None:
	"""Helena answers from a case, statutes and judgments, and proposes a deadline."""
	with open_office() as office, open_page(office.server.url, width=1200, height=1340) as page:
		page.set_default_timeout(ANSWER_TIMEOUT_MS)
		# The first answer of a process is slow, and the picture shows the duration.
		office.model.script(text("Hallo Katharina! Was kann ich für Sie tun?"), *SCRIPT)
		office.rest.sign_in(page)
		for prompt in ("Hallo Helena", PROMPTS[0]):
			page.goto("/huf/chat?agent=Helena")
			page.get_by_text("Hi, ich bin Helena!").wait_for()
			say(page, prompt)
		page.get_by_test_id("composer").fill(PROMPTS[1])
		page.get_by_test_id("send").click()
		page.get_by_test_id("draft-approve").wait_for()
		page.evaluate(TO_THE_BEGINNING)
		page.screenshot(path=DOCS / "helena.png")


def take_pages(pages: tuple[PageOf, ...]) -> None:
	SHOTS.mkdir(exist_ok=True)
	with open_showcase() as show:
		for variant, options in VARIANTS.items():
			with open_page(show.server.url, **options) as page:
				show.rest.sign_in(page)
				for one in pages:
					take_picture(show, page, one, SHOTS / f"{one.name}-{variant}.webp")
	known = {f"{one.name}-{variant}.webp" for one in PAGES for variant in VARIANTS}
	for left_over in [file for file in SHOTS.glob("*.webp") if file.name not in known]:
		left_over.unlink()
	(SHOTS / "README.md").write_text(make_index())
	size = sum(file.stat().st_size for file in SHOTS.iterdir())
	print(f"{len(known)} pictures, {size / 1e6:.2f} MB in {SHOTS}")
	if size > MAX_BYTES:
		sys.exit(f"That is more than the {MAX_BYTES / 1e6:.0f} MB the documentation may hold: lower QUALITY.")


def take_picture(show: Showcase, page, one: PageOf, path: Path) -> None:
	"""Save the page as WebP, which Chromium writes and Playwright does not."""
	show.open(page, one)
	page.wait_for_load_state("networkidle")
	page.evaluate("() => document.fonts.ready")
	session = page.context.new_cdp_session(page)
	shot = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
	path.write_bytes(base64.b64decode(shot["data"]))


def make_index() -> str:
	head = "# The pages\n\nMade by `scripts/screenshots`, which takes them anew from a site with made-up records.\n\n"
	rows = [
		f"## `{one.address.partition('?')[0]}` ({one.name})\n\n{make_images(one.name)}\n" for one in PAGES
	]
	return head + "\n".join(rows)


def make_images(name: str) -> str:
	return " ".join(
		f'<img src="{name}-{variant}.webp" alt="{name}, {variant}" '
		f'width="{120 if variant.startswith("phone") else 360}">'
		for variant in VARIANTS
	)


if __name__ == "__main__":
	wanted = sys.argv[1:]
	if not wanted or "README" in wanted:
		take_readme_picture()
	if not wanted or "helena" in wanted:
		take_office_picture()
	if pages := tuple(one for one in PAGES if not wanted or one.name in wanted):
		take_pages(pages)
