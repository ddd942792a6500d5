"""Modules loaded and patterns compiled at their first use, so that start-up pays only for what a command needs."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from functools import partial
from types import ModuleType
from typing import Any, AnyStr, cast


class _LazyModule(ModuleType):
    """Stands for a module and imports it when it is first asked for something.

    The import system's own lock makes this safe from several threads, which `importlib.util.LazyLoader` is not
    before Python 3.12.3: there, two threads at once can run a module's code twice.
    """

    _loaded: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if self._loaded is None:
            self._loaded = importlib.import_module(self.__name__)
        return getattr(self._loaded, name)


def lazy_module(name: str) -> ModuleType:
    """The module of this name, whose code runs at the first use of one of its attributes.

    Raises:
        ModuleNotFoundError: when there is no such module; arbor's own are not looked for, since they are there.
    """
    if name in sys.modules:
        return importlib.import_module(name)  # waits where another thread is still loading it
    if not name.startswith("arbor.") and importlib.util.find_spec(name) is None:
        raise ModuleNotFoundError(name)
    return _LazyModule(name)


class _LazyPattern:
    """Stands for a pattern and compiles it when it is asked for one of its methods, which it then keeps."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._compile = partial(re.compile, source, flags)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._compile(), name)
        setattr(self, name, method)
        return method


def lazy_pattern(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The regular expression, compiled at its first use.

    For what most commands never come to use: a pattern takes 0.1 to 1 ms to compile, and a class of characters with
    many ranges outside ASCII 2 to 7.
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(source, flags))
