"""Modules that are loaded when they are first used, so that start-up pays only for what a command needs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands for a module and imports it when it is asked for something.

    The import system's own lock makes this safe from several threads, which `importlib.util.LazyLoader` is not
    before Python 3.12.3: there, two threads at once can run a module's code twice.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


def lazy_module(name: str) -> ModuleType:
    """The module of this name, whose code runs at the first use of one of its attributes.

    Raises:
        ModuleNotFoundError: when there is no such module.
    """
    if name in sys.modules:
        return sys.modules[name]
    if importlib.util.find_spec(name) is None:
        raise ModuleNotFoundError(name)
    return _LazyModule(name)
