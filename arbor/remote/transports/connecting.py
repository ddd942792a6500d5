"""From an address to a transport. What needs an extra is loaded only when an address asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from arbor.errors import RemoteError, UsageError
from arbor.lazy import lazy_module
from arbor.records import dataclass
from arbor.remote.protocol.limits import DEFAULT_LIMITS, Limits
from arbor.remote.protocol.wire import Transport
from arbor.remote.transports.addresses import Address, parse_address

if TYPE_CHECKING:
    from types import ModuleType

    from arbor.remote.transports import bundle, local
else:
    bundle = lazy_module("arbor.remote.transports.bundle")
    local = lazy_module("arbor.remote.transports.local")


@dataclass(frozen=True, slots=True)
class ConnectOptions:
    """How to reach other KBs.

    Attributes:
        cwd: Where relative paths start; the program's own folder without.
        token: Sent to http servers; never recorded.
        ssh_command: The ssh program and options of its own.
        remote_command: What is run on the other side of ssh.
        limits: Bounds.
        proxies: On the way to http servers; see `arbor.repo.importing.proxies.find_proxy`.
    """

    cwd: Path | None = None
    token: str = ""
    ssh_command: tuple[str, ...] = ("ssh",)
    remote_command: tuple[str, ...] = ("arbor",)
    limits: Limits = DEFAULT_LIMITS
    proxies: Mapping[str, str] = field(default_factory=dict)


_AS_THEY_ARE = ConnectOptions()


def connect(text: str, options: ConnectOptions = _AS_THEY_ARE) -> Transport:
    """The transport of an address; close it when done.

    Raises:
        UsageError: when the address is none, or needs an extra that is not installed.
        IntegrityError: when a file is not a bundle.
        RemoteError: when the other side cannot be reached, or no knowledge base is there.
    """
    # Absolute, since what was last seen of an address is kept under it.
    address = parse_address(text, options.cwd or Path.cwd())
    if address.kind == "path":
        fs_path = Path(address.path)
        if fs_path.is_file():
            return bundle.BundleTransport(fs_path)
        if fs_path.exists() and not fs_path.is_dir():
            raise RemoteError(f"{fs_path} is neither a folder nor a file, but a pipe, a socket or a device",
                              "a knowledge base is a folder, and a bundle a file")  # fmt: skip
        return local.LocalTransport(fs_path, options.limits)
    if address.kind == "ssh":
        transport: Transport = lazy_module("arbor.remote.transports.ssh").SshTransport(
            address, options.ssh_command, options.remote_command, options.limits
        )
    elif address.kind == "http":
        module = _extra("arbor.remote.transports.http_client", "http", "httpcore")
        given = options.token or address.secret
        login = f"{address.user}:{given}" if address.user and given == address.secret else ""
        transport = module.HttpTransport(address.url, given, options.limits, login, options.proxies)
    else:
        module = _extra("arbor.remote.transports.object_storage", "s3", "obstore")
        transport = module.open_store(address.url, options.limits)
    return transport


def _extra(module: str, extra: str, library: str) -> ModuleType:
    try:
        lazy_module(library)
    except ModuleNotFoundError as error:
        hint = f"run: pip install 'arbor-kb[{extra}]'"
        raise UsageError(f"this address needs {library}, which is not installed", hint) from error
    return lazy_module(module)


def recorded_url(text: str, cwd: Path | None = None) -> str:
    """The address as it is kept in settings: absolute where it is a path, and without a secret."""
    address: Address = parse_address(text, cwd)
    return str(Path(address.path).resolve()) if address.kind == "path" else address.url
