"""Fetching over TLS: a certificate that the system trusts is needed, whatever else is allowed."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from arbor.errors import RemoteError
from arbor.repo.importing import sources
from arbor.repo.importing.fetching import Fetcher, FetchRules
from tests.trust.conftest import MakeKb

pytest.importorskip("cryptography")
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

LOCAL = FetchRules(private=True, timeout_s=5, total_s=10)
TEXT = b"Words that came over TLS.\n"


def certificate(folder: Path, *names: str) -> Path:
    """A self-signed certificate for these names with its key, in one file."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(x509.OID_COMMON_NAME, "t")]),
    )
    now = dt.datetime.now(dt.UTC)
    others = [
        x509.IPAddress(ipaddress.ip_address(each)) if each[0].isdigit() else x509.DNSName(each)
        for each in names
    ]
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(7).not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName(others), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                               serialization.NoEncryption())  # fmt: skip
    fs_path = folder / "certificate.pem"
    fs_path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return fs_path


@pytest.fixture(params=["127.0.0.1", "elsewhere.example"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path, bool]]:
    """(address, certificate, whether the certificate is for the address) of a TLS server."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/a.txt"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(TEXT) if found else 0))
            self.end_headers()
            if found:
                self.wfile.write(TEXT)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that turns away is what half of these tests are about."""

    made = Quiet(("127.0.0.1", 0), Handler)
    pem = certificate(tmp_path, request.param)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    made.socket = context.wrap_socket(made.socket, server_side=True)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{made.server_port}", pem, request.param == "127.0.0.1"
    made.shutdown()
    thread.join()
    made.server_close()


def test_only_a_trusted_certificate_for_the_name_will_do(
    make_kb: MakeKb, server: tuple[str, Path, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, pem, fits = server
    kb = make_kb()
    with pytest.raises(RemoteError, match="certificate"):
        sources.add_url(kb.repo, f"{url}/a.txt", Fetcher(LOCAL))
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))
    if not fits:
        with pytest.raises(RemoteError, match="certificate"):
            sources.add_url(kb.repo, f"{url}/a.txt", Fetcher(LOCAL))
        assert list(kb.ls()) == []
        return
    done = sources.add_url(kb.repo, f"{url}/a.txt", Fetcher(LOCAL))
    kb.commit("page", index=False)
    assert b"".join(kb.cat(done.path)) == TEXT
    assert kb.document(done.path).source_uri == f"{url}/a.txt"
