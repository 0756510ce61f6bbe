"""`python -m huf.embedded.tests.pictures`: takes the README's picture anew, from a fresh site without a model."""

import tempfile
from pathlib import Path

from huf.embedded.tests.browser import open_browser, say, sign_in
from huf.embedded.tests.server_test import Server, free_port

DOCS = Path(__file__).resolve().parents[3] / "docs"
PASSWORD = "only for the picture 1"


def take_pictures() -> None:
	with tempfile.TemporaryDirectory(prefix="huf-pictures-") as home:
		server = Server(Path(home), free_port(), HUF_ADMIN_PASSWORD=PASSWORD)
		try:
			with open_browser(server.url, width=1200, height=1010) as page:
				sign_in(page, PASSWORD)
				say(page, "How many users are there?")
				say(page, "Create a todo to call Anna tomorrow")
				page.get_by_test_id("message-user").first.scroll_into_view_if_needed()
				page.screenshot(path=DOCS / "chat.png")
		finally:
			server.stop()


if __name__ == "__main__":
	take_pictures()
