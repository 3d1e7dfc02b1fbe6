"""Certificates for servers of the tests, made anew for each run."""

import subprocess

import pytest


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """A certification authority, a server's certificate for 127.0.0.1 and localhost, a client's whose
    key is there behind a password too, an expired one, one that signed itself, and a stranger's CA."""
    place = tmp_path_factory.mktemp("tls")

    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, cwd=place)

    def ca(name):
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def certificate(name, names, days=30):
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        (place / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
                days, "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    ca("ca")
    ca("stranger")
    certificate("server", "IP:127.0.0.1,DNS:localhost")
    certificate("elsewhere", "DNS:elsewhere.example")
    certificate("client", "DNS:client")
    certificate("expired", "IP:127.0.0.1,DNS:localhost", days=-1)
    ca("alone")
    openssl("pkcs8", "-topk8", "-in", "client.key", "-out", "locked.key", "-passout", "pass:open sesame")
    return place
