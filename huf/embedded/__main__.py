"""`python -m huf.embedded` is the command `huf`."""

from huf.embedded.cli import main

if __name__ == "__main__":
	main()
