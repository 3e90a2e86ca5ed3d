"""A server that other machines can reach: the page and the jobs connect with TLS."""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import GRAPHDBG, HOSTS, Server, clean_environment, losses, wait_until

DIGITS = [sys.executable, str(HOSTS / "digits_cnn.py"), "--steps", "5"]
NAMES = "subjectAltName=DNS:gpu7.example,IP:127.0.0.1,IP:0.0.0.0"


def openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


class Authority:
    """Issues certificates."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.certificate, self.key = folder / "ca.pem", folder / "ca.key"
        openssl(*self._request("authority"), "-x509", "-days", "2", "-keyout", self.key, "-out", self.certificate)

    @staticmethod
    def _request(name: str) -> list[str]:
        return ["req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"]

    def issue(self, name: str, extension: str) -> tuple[Path, Path]:
        certificate, key, request = (self.folder / f"{name}.{suffix}" for suffix in ("pem", "key", "csr"))
        openssl(*self._request(name), "-keyout", key, "-out", request)
        extensions = self.folder / "extensions"
        extensions.write_text(extension)
        issuer = ["-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial", "-extfile", extensions]
        openssl("x509", "-req", "-days", "2", "-in", request, "-out", certificate, *issuer)
        return certificate, key


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture
def start(authority: Authority, tmp_path: Path, monkeypatch) -> Iterator[Callable[..., Server]]:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    certificate, key = authority.issue("server", NAMES)
    servers: list[Server] = []

    def start(*options: str) -> Server:
        tls = (f"--tls-cert={certificate}", f"--tls-key={key}")
        servers.append(Server(tmp_path / "data", "--host=0.0.0.0", *tls, *options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def status(server: Server, authority: Authority, path: str = "/readyz", **headers: str) -> int:
    port = int(server.addresses["http_address"].rpartition(":")[2])
    trusted = ssl.create_default_context(cafile=str(authority.certificate))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trusted)
    connection.request("GET", path, headers=headers)
    return connection.getresponse().status


def test_it_answers_to_the_names_of_its_certificate(start, authority) -> None:
    server = start()
    assert server.addresses["http_address"].startswith("https://0.0.0.0:")
    assert server.addresses["url"].startswith("https://")
    assert status(server, authority) == 200
    name = f"gpu7.example:{server.addresses['http_address'].rpartition(':')[2]}"
    assert status(server, authority, Host=name) == 200
    assert status(server, authority, Host="gpu7.example:1") == 421
    assert status(server, authority, Host=name.replace("gpu7", "evil")) == 421
    assert status(server, authority, Host=name, Origin=f"https://{name}") == 200
    assert status(server, authority, Host=name, Origin=f"http://{name}") == 403
    assert status(server, authority, "/api/v1/jobs") == 401
    assert server.client.get("/jobs") == {"jobs": []}
    # Unencrypted requests fail.
    port = int(server.addresses["http_address"].rpartition(":")[2])
    plain = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    plain.request("GET", "/readyz")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        plain.getresponse()


def test_jobs_come_by_tls(start, start_job, authority) -> None:
    server = start()
    trusts = {"GRAPHDBG_JOB": "digits", "GRAPHDBG_TLS_CA": str(authority.certificate)}
    job = start_job(DIGITS, server.job_environment(**trusts))
    server.wait_for_state("digits", "paused")
    server.control("digits", "continue")
    server.wait_for_state("digits", "finished", step=5)
    assert len(losses(job.communicate(timeout=60)[0])) == 5


def test_a_job_that_does_not_trust_the_server_tells_it_nothing(start, start_job, authority, tmp_path) -> None:
    server = start()
    other = Authority(tmp_path / "others")
    environment = server.job_environment(GRAPHDBG_TLS_CA=str(other.certificate), GRAPHDBG_CONNECT_TIMEOUT="2")
    job = start_job(DIGITS, environment)
    output, errors = job.communicate(timeout=90)
    assert len(losses(output)) == 5
    assert "graphdbg:" in errors
    assert server.client.get("/jobs") == {"jobs": []}


def test_clients_show_a_certificate_where_that_is_asked(start, start_job, authority) -> None:
    server = start(f"--tls-client-ca={authority.certificate}")
    with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
        status(server, authority)
    certificate, key = authority.issue("worker", "extendedKeyUsage=clientAuth")
    environment = server.job_environment(
        GRAPHDBG_JOB="digits",
        GRAPHDBG_WAIT="0",
        GRAPHDBG_TLS_CA=str(authority.certificate),
        GRAPHDBG_TLS_CERT=str(certificate),
        GRAPHDBG_TLS_KEY=str(key),
    )
    start_job(DIGITS, environment)
    port = int(server.addresses["http_address"].rpartition(":")[2])
    context = ssl.create_default_context(cafile=str(authority.certificate))
    context.load_cert_chain(certificate, key)
    token = (server.data_dir / "token").read_text().strip()

    def finished() -> bool:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
        connection.request("GET", "/api/v1/jobs", headers={"Authorization": f"Bearer {token}"})
        return b'"finished"' in connection.getresponse().read()

    wait_until("the end of the job, as a client with a certificate sees it", finished)


def test_files_that_do_not_fit_are_named(authority, tmp_path) -> None:
    certificate, _ = authority.issue("server", NAMES)
    _, key = authority.issue("another", NAMES)
    command = [GRAPHDBG, "start", "--port=0", "--debugger-port=0", f"--data-dir={tmp_path / 'data'}"]
    tls = [f"--tls-cert={certificate}", f"--tls-key={key}"]
    refused = subprocess.run([*command, *tls], capture_output=True, text=True, env=clean_environment(), timeout=60)
    assert refused.returncode == 3
    assert str(key) in refused.stderr


def test_a_key_that_others_can_read_is_refused(authority, tmp_path) -> None:
    certificate, key = authority.issue("careless", NAMES)
    key.chmod(0o640)
    command = [GRAPHDBG, "start", "--port=0", "--debugger-port=0", f"--data-dir={tmp_path / 'data'}"]
    tls = [f"--tls-cert={certificate}", f"--tls-key={key}"]
    refused = subprocess.run([*command, *tls], capture_output=True, text=True, env=clean_environment(), timeout=60)
    assert refused.returncode == 3
    assert f"chmod 600 {key}" in refused.stderr


def certificate_at(address: str) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    port = int(address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain, context.wrap_socket(plain) as tls:
        shown = tls.getpeercert(binary_form=True)
    assert shown
    return shown


def test_new_certificates_are_used_without_a_restart(start, authority) -> None:
    server = start()
    addresses = [server.addresses["http_address"], server.addresses["debugger_address"]]
    before = certificate_at(addresses[0])
    assert certificate_at(addresses[1]) == before
    # Replaces the files of the server.
    certificate, _ = authority.issue("server", NAMES)
    renewed = ssl.PEM_cert_to_DER_cert(certificate.read_text())
    assert renewed != before
    wait_until("the new certificate at both ports", lambda: {certificate_at(a) for a in addresses} == {renewed})
    assert status(server, authority) == 200
