# Sourced by the scripts beside it: a virtual environment with this checkout in it, made or renewed only when needed.

find_python() {
	local name
	for name in ${HUF_PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
		if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
			echo "$name"
			return
		fi
	done
	echo "Huf needs Python 3.10 or later; found: $(python3 --version 2>/dev/null || echo none)." >&2
	echo "Install a newer one, or name it: HUF_PYTHON=/path/to/python $0" >&2
	return 1
}

sources() {
	find huf/ui -name node_modules -prune -o -type f -print 2>/dev/null | LC_ALL=C sort
}

# use_environment EXTRAS: puts .venv on the PATH, with the package, what requirements.lock pins, and these extras installed.
use_environment() {
	local extras=$1 stale='' extra python stamp
	if [ ! -x .venv/bin/python ]; then
		python=$(find_python)
		echo "Making .venv with $("$python" --version) ..." >&2
		"$python" -m venv .venv || {
			rm -rf .venv
			echo "On Debian and Ubuntu this needs: sudo apt install python3-venv" >&2
			return 1
		}
	fi
	PATH="$PWD/.venv/bin:$PATH"
	export PATH
	stamp="$( { cat pyproject.toml setup.py requirements.lock; sources | xargs cat; } | cksum) ${HUF_SKIP_UI:-}"
	for extra in ${extras//,/ }; do
		[ "$(cat ".venv/huf-$extra" 2>/dev/null)" = "$stamp" ] || stale=1
	done
	[ -n "$stale" ] || return 0
	echo "Installing Huf into .venv (only when its sources ask for it; the first time takes a minute or two) ..." >&2
	# requirements.lock holds what runs and what builds it; only extras for developers are looked up.
	local install=(python -m pip install -qq --disable-pip-version-check)
	"${install[@]}" --require-hashes --requirement requirements.lock || return 1
	if [ "$extras" = embedded ]; then
		"${install[@]}" --no-build-isolation --no-deps --editable . || return 1
	else
		"${install[@]}" --no-build-isolation --editable ".[$extras]" || return 1
	fi
	for extra in ${extras//,/ }; do
		echo "$stamp" >".venv/huf-$extra"
	done
}
