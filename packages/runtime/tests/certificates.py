"""A certificate authority for tests, and servers' certificates good and bad."""

from __future__ import annotations

import datetime
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_NOW = datetime.datetime.now(datetime.UTC)
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, kw_only=True)
class Authority:
    """Somebody who signs certificates; `ca_file` is what a client trusts."""

    folder: Path
    name: x509.Name
    key: ec.EllipticCurvePrivateKey
    ca_file: Path

    def server(self, host: str, *, expired: bool = False) -> ssl.SSLContext:
        """What a server needs that calls itself by this name."""
        key = ec.generate_private_key(ec.SECP256R1())
        until = _NOW - _DAY if expired else _NOW + _DAY
        certificate = (
            _builder(host, key, issuer=self.name, until=until)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return _context(self.folder / f"{host}.pem", certificate, key)


def authority(folder: Path) -> Authority:
    """A new authority, whose files lie in this folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("Test Authority")
    certificate = (
        _builder("Test Authority", key, issuer=name, until=_NOW + _DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    ca_file = folder / "ca.pem"
    ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return Authority(folder=folder, name=name, key=key, ca_file=ca_file)


def self_signed(folder: Path, host: str) -> ssl.SSLContext:
    """What a server has that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(host, key, issuer=_name(host), until=_NOW + _DAY)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return _context(folder / "self-signed.pem", certificate, key)


def _builder(
    subject: str, key: ec.EllipticCurvePrivateKey, *, issuer: x509.Name, until: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOW - 2 * _DAY)
        .not_valid_after(until)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def _context(path: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
