# SPDX-License-Identifier: Apache-2.0
"""Keys, certificates and credentials, made by openssl in a test's folder."""

import base64
import binascii
import json
import subprocess
import time
from pathlib import Path


def openssl(*arguments: object) -> bytes:
    return subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True).stdout


PREFIXES = {"account": 0, "operator": 14 << 3, "user": 20 << 3}
SEED_PREFIX = 18 << 3


class NKey:
    """An Ed25519 key in NATS's form."""

    def __init__(self, folder: Path, name: str, kind: str) -> None:
        self._path = folder / f"{name}.key"
        self._kind = kind
        openssl("genpkey", "-algorithm", "ed25519", "-out", self._path)
        prefix = PREFIXES[kind]
        public = openssl("pkey", "-in", self._path, "-pubout", "-outform", "DER")[-32:]
        secret = openssl("pkey", "-in", self._path, "-outform", "DER")[-32:]
        self.public = self._text(bytes([prefix]) + public)
        self.seed = self._text(bytes([SEED_PREFIX | prefix >> 5, (prefix & 31) << 3]) + secret)

    @staticmethod
    def _text(raw: bytes) -> str:
        checksum = binascii.crc_hqx(raw, 0).to_bytes(2, "little")
        return base64.b32encode(raw + checksum).decode().rstrip("=")

    def token(self, subject: "NKey", **claims: object) -> str:
        """A JWT with this key's claims about another key."""
        body = {
            "jti": subject.public,
            "iat": int(time.time()) - 60,
            "iss": self.public,
            "name": subject._kind,
            "sub": subject.public,
            "nats": {"type": subject._kind, "version": 2} | claims,
        }
        parts = [json.dumps(part).encode() for part in ({"typ": "JWT", "alg": "ed25519-nkey"}, body)]
        signed = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
        text = self._path.with_suffix(".txt")
        text.write_bytes(signed)
        signature = openssl("pkeyutl", "-sign", "-rawin", "-inkey", self._path, "-in", text)
        return (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def credentials(token: str, seed: str) -> str:
    """The content of a credentials file."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n"
    )


class Authority:
    """Signs certificates."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._key = folder / f"{name}.key"
        self.certificate = folder / f"{name}.pem"
        self._request(self._key, "-x509", "-subj", f"/CN={name}", "-out", self.certificate)

    @staticmethod
    def _request(key: Path, *arguments: object) -> None:
        curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        openssl("req", *curve, "-keyout", key, "-days", "2", *arguments)

    def sign(self, name: str, alternatives: str) -> tuple[Path, Path]:
        """A certificate for these hosts, and its key."""
        stem = f"{self._name}-{name}"
        key, request, extensions, certificate = (self._folder / f"{stem}.{end}" for end in ("key", "csr", "ext", "pem"))
        self._request(key, "-subj", f"/CN={name}", "-out", request)
        extensions.write_text(f"subjectAltName={alternatives}\n")
        issuer = ("-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial")
        openssl("x509", "-req", "-in", request, *issuer, "-days", "2", "-extfile", extensions, "-out", certificate)
        return certificate, key
