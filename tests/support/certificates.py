"""Certificates for TLS tests: good ones and every kind of bad one."""

from __future__ import annotations

import datetime as dt
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

LOCAL_HOSTS = ("localhost", "127.0.0.1")
KEY_PASSWORD = "cykafka-key-password"
_DAY = dt.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """Files of one certificate.

    Attributes:
        certificate: The certificate and those that signed it, PEM.
        key: Private key without password, PEM (PKCS#8).
        encrypted_key: Private key under `KEY_PASSWORD`, PEM (PKCS#8).
        keystore: Key and certificates in one PEM file, as Kafka's PEM key stores are.
        pkcs12: Key and certificates under `KEY_PASSWORD`, PKCS#12.
        serial_number: Serial number, for revoking it.
    """

    certificate: Path
    key: Path
    encrypted_key: Path
    keystore: Path
    pkcs12: Path
    serial_number: int


class CertificateAuthority:
    """A certificate authority for one test run, with its files in a folder.

    Args:
        folder: Existing folder that takes every file.
        name: Common name of the authority, also used for its file names.
    """

    def __init__(self, folder: Path, name: str = "test-authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _common_name(name)
        builder = _builder(self._name, self._name, self._key, -_DAY, 30 * _DAY)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        self._certificate = builder.sign(self._key, hashes.SHA256())
        #: The authority's certificate, PEM: what `ssl.ca.location` takes.
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(self._certificate.public_bytes(Encoding.PEM))

    def issue(
        self,
        name: str,
        *,
        hosts: tuple[str, ...] = LOCAL_HOSTS,
        expired: bool = False,
        self_signed: bool = False,
    ) -> Certificate:
        """Make a key and a certificate, valid for servers and clients.

        Args:
            name: Common name, also used for the file names.
            hosts: Host names and addresses it is valid for.
            expired: Whether it ended yesterday.
            self_signed: Whether it signs itself instead of being signed by this authority.

        Returns:
            The files.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _common_name(name)
        start, end = (-10 * _DAY, -_DAY) if expired else (-_DAY, 30 * _DAY)
        builder = _builder(subject, subject if self_signed else self._name, key, start, end)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
        builder = builder.add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
            critical=False,
        )
        signing_key = key if self_signed else self._key
        # Python 3.13 and later refuse certificates without it.
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
        certificate = builder.add_extension(identifier, critical=False).sign(signing_key, hashes.SHA256())
        chain = [certificate] if self_signed else [certificate, self._certificate]
        return self._write(name, key, chain)

    def revocation_list(self, *revoked: Certificate) -> Path:
        """Make a list of revoked certificates.

        Args:
            revoked: Certificates of this authority.

        Returns:
            The list, PEM: what `ssl.crl.location` takes.
        """
        now = dt.datetime.now(dt.timezone.utc)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name)
        builder = builder.last_update(now - _DAY).next_update(now + 30 * _DAY)
        for certificate in revoked:
            entry = x509.RevokedCertificateBuilder().serial_number(certificate.serial_number)
            builder = builder.add_revoked_certificate(entry.revocation_date(now - _DAY).build())
        path = self._folder / f"revoked-{len(revoked)}.pem"
        path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        return path

    def _write(self, name: str, key: ec.EllipticCurvePrivateKey, chain: list[x509.Certificate]) -> Certificate:
        password = BestAvailableEncryption(KEY_PASSWORD.encode())
        key_pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        chain_pem = b"".join(each.public_bytes(Encoding.PEM) for each in chain)
        files = Certificate(
            certificate=self._folder / f"{name}.certificate.pem",
            key=self._folder / f"{name}.key.pem",
            encrypted_key=self._folder / f"{name}.encrypted-key.pem",
            keystore=self._folder / f"{name}.keystore.pem",
            pkcs12=self._folder / f"{name}.p12",
            serial_number=chain[0].serial_number,
        )
        files.certificate.write_bytes(chain_pem)
        files.key.write_bytes(key_pem)
        files.encrypted_key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, password))
        files.keystore.write_bytes(key_pem + chain_pem)
        files.pkcs12.write_bytes(
            pkcs12.serialize_key_and_certificates(name.encode(), key, chain[0], chain[1:], password)
        )
        return files


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    start: dt.timedelta,
    end: dt.timedelta,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.timezone.utc)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now + start).not_valid_after(now + end)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identifier, critical=False)
