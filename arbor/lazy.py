"""Modules that are loaded when they are first used, so that start-up pays only for what a command needs."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType


def lazy_module(name: str) -> ModuleType:
    """The module of this name; its code runs at the first access to one of its attributes.

    Source: the recipe for `importlib.util.LazyLoader` in Python's library reference.

    Raises:
        ModuleNotFoundError: when there is no such module.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(name)
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module
