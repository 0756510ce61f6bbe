"""Builds the messages that open a transcript."""

from collections.abc import Iterable

from huf.ai.core.attachments import NO_FILES, MessageFiles


def opening_messages(
	instructions: str | None, history: Iterable[dict], prompt: str, files: MessageFiles = NO_FILES
) -> list[dict]:
	"""Instructions, earlier messages and the prompt in OpenAI's format; images are File names."""
	system = [{"role": "system", "content": instructions}] if instructions else []
	return [*system, *history, files.to_message(prompt)]
