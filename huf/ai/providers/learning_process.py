"""Learns in a child process how to make a call without LiteLLM, whose import takes 145 MB of a process.

Run as a module, this is the child. It opens no connection, and is given no message and no API key.
"""

import asyncio
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Lock

from huf.ai.providers.learned_calls import CallStore, LearnedCall, find_learned, make_key, open_site_store
from huf.ai.providers.litellm_module import STREAMED, load

TIMEOUT_S = 60
UNSENT = {"messages", "tools", "api_key"}
LOCK = Lock()
"""One child at a time: runs that start together usually make the same call."""


async def learn_apart(kwargs: dict) -> LearnedCall | None:
	"""Learn a call that is not stored yet, and return it as `find_learned` does.

	None if the provider is not called in OpenAI's format, or if this process has imported LiteLLM: then it
	checks the call itself, which is faster.
	"""
	from huf.ai.providers.direct_path_check import uses_openai_format

	store = open_site_store()
	provider = kwargs["model"].partition("/")[0]
	if "litellm" in sys.modules or make_key(kwargs) in store or not uses_openai_format(provider):
		return None
	await asyncio.to_thread(learn_in_child, store, kwargs)
	return find_learned(kwargs)


def learn_in_child(store: CallStore, kwargs: dict) -> None:
	command = [sys.executable, "-m", __name__]
	question = {"path": str(store.path), "call": {k: v for k, v in kwargs.items() if k not in UNSENT}}
	environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
	with LOCK:
		if make_key(kwargs) in store:
			return
		try:
			subprocess.run(
				command,
				input=json.dumps(question).encode(),
				env=environment,
				stdout=subprocess.DEVNULL,
				stderr=subprocess.DEVNULL,
				timeout=TIMEOUT_S,
				check=True,
			)
		except (OSError, subprocess.SubprocessError) as error:
			# This process then loads LiteLLM and checks the call itself.
			logging.getLogger("huf").warning(
				"A child process could not learn a model call: %s", type(error).__name__
			)


# --- in the child ---


async def learn_variants(store: CallStore, call: dict) -> None:
	from huf.ai.providers.direct_path_check import FailedCheck, find_direct_path, learn_call

	for each in list_variants(call):
		found = await find_direct_path(load(), each)
		if not isinstance(found, FailedCheck):
			store.add(make_key(each), await learn_call(found, each))


def list_variants(call: dict) -> Iterator[dict]:
	"""The call streamed and not, with and without max_tokens: most sites soon make several of these."""
	common = {name: value for name, value in call.items() if name not in {"max_tokens", *STREAMED}}
	for stream in ({}, STREAMED):
		for limit in ({}, {"max_tokens": 1}):
			yield {**common, **stream, **limit}


def learn_from_stdin() -> None:
	question = json.load(sys.stdin)
	asyncio.run(learn_variants(CallStore(question["path"]), question["call"]))


if __name__ == "__main__":
	learn_from_stdin()
