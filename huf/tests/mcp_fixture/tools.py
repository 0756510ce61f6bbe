"""Tools of the fixture agent, with the names that the conformance suite calls."""

import base64
import struct
import time
import zlib

from huf.ai.core.errors import ToolError
from huf.ai.tools.registry import tool


def chunk(kind: bytes, data: bytes) -> bytes:
	return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png() -> str:
	"""One red pixel."""
	header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
	data = zlib.compress(b"\x00\xff\x00\x00")
	image = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
	return base64.b64encode(image).decode()


IMAGE = {"type": "image", "data": png(), "mimeType": "image/png"}
AUDIO = base64.b64encode(
	b"RIFF"
	+ struct.pack("<I", 36)
	+ b"WAVEfmt "
	+ struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
	+ b"data\0\0\0\0"
).decode()


def answer(*content: dict) -> dict:
	return {"content": list(content)}


def text(words: str) -> dict:
	return {"type": "text", "text": words}


def resource(uri: str, mime_type: str, words: str) -> dict:
	return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


@tool("Of the conformance suite")
def test_simple_text():
	return answer(text("This is a simple text response for testing."))


@tool("Of the conformance suite")
def test_image_content():
	return answer(IMAGE)


@tool("Of the conformance suite")
def test_audio_content():
	return answer({"type": "audio", "data": AUDIO, "mimeType": "audio/wav"})


@tool("Of the conformance suite")
def test_embedded_resource():
	words = "This is an embedded resource content."
	return answer(resource("test://embedded-resource", "text/plain", words))


@tool("Of the conformance suite")
def test_multiple_content_types():
	data = '{"test":"data","value":123}'
	mixed = resource("test://mixed-content-resource", "application/json", data)
	return answer(text("Multiple content types test:"), IMAGE, mixed)


@tool("Of the conformance suite")
def test_error_handling():
	raise ToolError("This tool intentionally returns an error for testing")


@tool("Of the conformance suite")
def greet(name: str):
	return answer(text(f"Hello, {name}!"))


@tool("Of the conformance suite")
def slow_compute(seconds: int = 0, label: str = ""):
	time.sleep(seconds)
	return answer(text(f"Computed {label} for {seconds} s"))


@tool("Of the conformance suite")
def failing_job():
	raise ToolError("This job always fails")


@tool("Of the conformance suite")
def confirm_delete(filename: str = ""):
	return answer(text(f"Deleted {filename}"))


SYNCHRONOUS = (
	test_simple_text,
	test_image_content,
	test_audio_content,
	test_embedded_resource,
	test_multiple_content_types,
	test_error_handling,
	greet,
)
BACKGROUND = {slow_compute: "If Possible", failing_job: "Always", confirm_delete: "If Possible"}
