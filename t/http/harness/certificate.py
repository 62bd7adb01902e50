"""A certificate for test servers."""

import subprocess


def self_signed(directory, names="IP:127.0.0.1"):
    """Creates a certificate for 127.0.0.1, or for other names; returns the paths of certificate and
    key."""
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         f"subjectAltName={names}", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    certificate.chmod(0o644)
    return certificate, key
