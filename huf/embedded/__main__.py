"""`python -m huf.embedded` is the command `huf`."""

from huf.embedded.cli import main

main()
