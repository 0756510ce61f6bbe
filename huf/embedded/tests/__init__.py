"""Tests of the embedded runtime and of the pages. Scripts such as `pictures` import from here without pytest."""

import huf.embedded

huf.embedded.install()
