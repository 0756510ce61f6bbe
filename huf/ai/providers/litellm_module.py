"""Imports LiteLLM on first use, because that takes seconds and 145 MB."""

import gc
import os
from functools import lru_cache

STREAMED = {"stream": True, "stream_options": {"include_usage": True}}
"""Arguments of a LiteLLM call that is streamed."""


@lru_cache(maxsize=1)
def load():
	"""The litellm module, configured to make no requests of its own. The first call takes seconds."""
	os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
	# Collecting garbage during the import takes a fifth of the time and finds none.
	is_collecting = gc.isenabled()
	gc.disable()
	try:
		import litellm
	finally:
		if is_collecting:
			gc.enable()

	litellm.telemetry = False
	litellm.suppress_debug_info = True
	litellm.drop_params = True
	# Counting tokens opens no connection.
	litellm.disable_hf_tokenizer_download = True
	return litellm
