"""llama.cpp's own server with a model made here: two small layers of random weights, and a token for every byte.

    with tiny_llama(folder) as server:
        ... ask server.url with the key `KEY` ...

What the model says is noise, in any bytes. Everything else is real: tokens are counted, limits hold, and a JSON schema
becomes a grammar, which even noise must follow. The executable `llama-server` is on the path, or the environment
variable DEBATEBENCH_LLAMA_SERVER names it.
"""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from real_server import RealServer
from tournament import KEY

VARIABLE = "DEBATEBENCH_LLAMA_SERVER"
CONTEXT, WIDTH, HIDDEN, HEADS, LAYERS = 16384, 64, 128, 4, 2
SLOTS, END = 4, 2
# The kinds of a value in a GGUF file, and of a token.
_U32, _I32, _F32, _BOOL, _TEXT, _LIST = 4, 5, 6, 7, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_ALIGNED = 32


def llama_server() -> str | None:
    """The executable, if there is one."""
    return os.environ.get(VARIABLE) or shutil.which("llama-server")


def tiny_llama(folder: Path) -> RealServer:
    """The server with the model in `folder`, to be used in a `with` statement."""
    executable = llama_server()
    if executable is None:
        raise FileNotFoundError(f"no llama-server on the path, and {VARIABLE} is not set")
    model = write_model(folder / "tiny.gguf")
    options = ["--host", "127.0.0.1", "--port", "{port}", "--api-key", KEY, "--offline"]
    options += ["--parallel", str(SLOTS), "--ctx-size", str(SLOTS * CONTEXT), "--threads", "1"]
    command = [executable, "--model", str(model), *options]
    return RealServer("llama.cpp", command, folder, health="/health", mark="stop processing")


def write_model(path: Path) -> Path:
    """Write the model, the same bytes every time (github.com/ggml-org/ggml, docs/gguf.md)."""
    # A blank is written as the last of these before the bytes.
    words = ["<unk>", "<s>", "</s>", "\u2581", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, _NORMAL, *[_BYTE] * 256]
    values = {
        "general.architecture": _text("llama"),
        "llama.context_length": _number(CONTEXT),
        "llama.embedding_length": _number(WIDTH),
        "llama.feed_forward_length": _number(HIDDEN),
        "llama.block_count": _number(LAYERS),
        "llama.attention.head_count": _number(HEADS),
        "llama.attention.layer_norm_rms_epsilon": struct.pack("<If", _F32, 1e-5),
        "llama.rope.dimension_count": _number(WIDTH // HEADS),
        "tokenizer.ggml.model": _text("llama"),
        "tokenizer.ggml.tokens": _list(_TEXT, [_string(word) for word in words]),
        "tokenizer.ggml.scores": _list(_F32, [struct.pack("<f", 0.0)] * len(words)),
        "tokenizer.ggml.token_type": _list(_I32, [struct.pack("<i", kind) for kind in kinds]),
        # Otherwise the beginning of an answer is read back with a blank before it, which no grammar expects.
        "tokenizer.ggml.add_space_prefix": struct.pack("<I?", _BOOL, False),
        "tokenizer.ggml.bos_token_id": _number(1),
        "tokenizer.ggml.eos_token_id": _number(END),
    }
    tensors = dict(_tensors(len(words)))
    header = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(values))]
    header += [_string(name) + value for name, value in values.items()]
    offset = 0
    for name, tensor in tensors.items():
        # The dimension that varies fastest comes first; 0 is the type of 32-bit floats.
        shape = struct.pack(f"<I{tensor.ndim}Q", tensor.ndim, *reversed(tensor.shape))
        header.append(_string(name) + shape + struct.pack("<IQ", 0, offset))
        offset += len(_padded(tensor.tobytes()))
    path.write_bytes(_padded(b"".join(header)) + b"".join(_padded(tensor.tobytes()) for tensor in tensors.values()))
    return path


def _tensors(words: int) -> Iterator[tuple[str, np.ndarray[Any, np.dtype[np.float32]]]]:
    draw = np.random.default_rng(1)
    shapes = {"token_embd": (words, WIDTH), "output": (words, WIDTH), "output_norm": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {f"blk.{layer}.{name}_norm": (WIDTH,) for name in ("attn", "ffn")}
        shapes |= {f"blk.{layer}.attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        shapes |= {f"blk.{layer}.ffn_{name}": (HIDDEN, WIDTH) for name in ("gate", "up")}
        shapes[f"blk.{layer}.ffn_down"] = (WIDTH, HIDDEN)
    for name, shape in shapes.items():
        weights = draw.normal(0.0, 0.2, shape) if len(shape) == 2 else np.ones(shape)
        if name == "output":
            # The end of an answer is not among the forty likeliest tokens, so no answer is empty.
            weights[END] = 0.0
        yield f"{name}.weight", weights.astype("<f4")


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _text(text: str) -> bytes:
    return struct.pack("<I", _TEXT) + _string(text)


def _number(value: int) -> bytes:
    return struct.pack("<II", _U32, value)


def _list(kind: int, items: Sequence[bytes]) -> bytes:
    return struct.pack("<IIQ", _LIST, kind, len(items)) + b"".join(items)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNED)
