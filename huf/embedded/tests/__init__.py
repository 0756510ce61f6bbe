"""Tests of the embedded runtime and of the pages. Scripts such as `pictures` run without pytest."""

import huf.embedded

huf.embedded.install()
