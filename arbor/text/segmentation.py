"""Words in runs of Chinese characters; jieba is imported and its dictionary read with the first such run."""

from __future__ import annotations

import importlib
import threading
from functools import lru_cache
from typing import Protocol, cast

_CACHED_RUNS_MAX = 1 << 14
_LOADING = threading.Lock()


class _Tokenizer(Protocol):
    def lcut(self, sentence: str) -> list[str]: ...


@lru_cache(maxsize=_CACHED_RUNS_MAX)
def segment_han(run: str) -> tuple[str, ...]:
    """Cut a run of Chinese characters into words that join to it."""
    return tuple(_load_tokenizer().lcut(run))


def _load_tokenizer() -> _Tokenizer:
    with _LOADING:  # two threads must not read the dictionary twice
        return _load_once()


@lru_cache(maxsize=1)
def _load_once() -> _Tokenizer:
    return cast("_Tokenizer", importlib.import_module("arbor.text.jieba_dictionary").load_tokenizer())
