"""The job's own client properties (``--command-config FILE``), in Java or librdkafka spelling, as what our two Kafka clients need.

Secrets come by this file only, never by an option or the environment, which process lists and CI logs show. What a file asks for and
cannot be had here is refused with the property's name; a certificate is never left out silently.
"""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from analyzers.bundle.small_files import no_pipe, small_file
from cli.collectors.client_key_stores import key_material
from cli.collectors.client_logins import login_of, unsecured_subject
from cli.shell.exits import UsageError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# Java key → librdkafka key, where the value means the same. Everything else of these two families passes as it is.
_RENAMED: Mapping[str, str] = {
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",  # KIP-1139
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
_LIBRDKAFKA_SECURITY = (
    "security.protocol", "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location",
    "ssl.key.pem", "ssl.key.password", "ssl.cipher.suites", "ssl.crl.location", "https.ca.location",
    "ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification", "sasl.mechanism", "sasl.mechanisms",
    "sasl.username", "sasl.password", "sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab",
    "sasl.oauthbearer.method", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.extensions", "client.id", "broker.address.family",
)  # fmt: skip
_HOLDS_SECRET = re.compile(r"password|secret|jaas|ssl\.key|keystore\.key|token|username", re.IGNORECASE)


@dataclass(frozen=True)
class ClientProperties:
    """What a properties file says: `raw` as written, `librdkafka` for confluent-kafka, the rest for our own probe of the wire."""

    raw: Mapping[str, str] = field(default_factory=dict, repr=False)  # repr lands in tracebacks
    librdkafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    bootstrap_servers: str | None = None
    unsecured_subject: str | None = None  # OAUTHBEARER of a test cluster: the client makes its token itself
    access_token: str | None = field(default=None, repr=False)  # a bearer token that stands in the file
    named: set[str] = field(default_factory=set, compare=False)  # the hosts of bootstrap servers, and what they were looked up as

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    @property
    def has_certificate(self) -> bool:
        """Whether it shows a certificate of its own to a broker that asks for one."""
        return any(self.librdkafka.get(key) for key in ("ssl.certificate.location", "ssl.certificate.pem"))

    def settings(self) -> dict[str, str]:
        """The properties without anything secret, as facts about the client."""
        return {key: value for key, value in sorted(self.raw.items()) if not _HOLDS_SECRET.search(key)}

    def tls_context(self) -> ssl.SSLContext:
        """The context of our own TLS handshakes; raises :class:`UsageError` when a certificate cannot be loaded."""
        given = self.librdkafka
        try:
            if given.get("ssl.ca.location") or given.get("ssl.ca.pem"):
                context = _trusting(given.get("ssl.ca.location"), given.get("ssl.ca.pem"))
            else:
                context = ssl.create_default_context()
            if self.has_certificate:
                _load_certificate(context, given)
        except (OSError, ssl.SSLError) as error:
            keys = ("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem")
            named = ", ".join(f"{key}={given[key]}" if key.endswith("location") else key for key in keys if given.get(key))
            raise UsageError(
                f"cannot load the TLS certificates {named}: {_tls_words(error)}",
                "give files that this user can read, and ssl.key.password where the key has one",
            ) from error
        # librdkafka and Java agree: an empty value switches the comparison of names off
        if given.get("ssl.endpoint.identification.algorithm") in ("", "none"):
            context.check_hostname = False
        if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def _trusting(location: str | None, text: str | None) -> ssl.SSLContext:
    """A context that trusts a file or folder of PEM, or a text."""
    folder = location is not None and Path(location).is_dir()
    return ssl.create_default_context(cafile=None if folder else location, capath=location if folder else None, cadata=text)


def _load_certificate(context: ssl.SSLContext, given: Mapping[str, str]) -> None:
    """Load certificate and key. Python takes files only: texts go to a private folder that is gone when this returns."""

    def password() -> str:  # without it OpenSSL would ask the terminal, and wait
        return given.get("ssl.key.password", "")

    with tempfile.TemporaryDirectory(prefix="diag-") as private:

        def file_of(kind: str) -> str | None:
            text = given.get(f"ssl.{kind}.pem")
            if text is None:
                return given.get(f"ssl.{kind}.location")
            path = Path(private) / f"{kind}.pem"
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
                out.write(text)
            return str(path)

        context.load_cert_chain(file_of("certificate") or "", file_of("key"), password)


def _tls_words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or str(error)).replace("_", " ").lower()
    return error.strerror or str(error)


def read_client_properties(path: Path) -> ClientProperties:
    """Read and translate a properties file.

    Raises :class:`UsageError`, with the line to write instead where Java's way has no equivalent.
    """
    try:
        text = small_file(path).decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(
            f"cannot read the client properties {path}: {why}", "--command-config takes a Java or librdkafka .properties file"
        ) from error
    given = parse_properties(text)
    for key, value in given.items():
        if key.endswith((".location", ".keytab")) and (why := no_pipe(value)) is not None:
            raise UsageError(f"{path}: {key}={value} {why}", "Name a file.")
    return translate(given, str(path))


def parse_properties(text: str) -> dict[str, str]:
    r"""Key and value of each logical line of the Java format: ``#`` and ``!`` comments, ``=``, ``:`` or blank between, ``\`` continues."""
    properties: dict[str, str] = {}
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text)
    for line in joined.splitlines():
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        match = re.match(r"((?:\\.|[^=:\s\\])+)\s*[=:]?\s*(.*)", line)
        if match:
            properties[_unescaped(match[1])] = _unescaped(match[2])
    return properties


_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        escaped = match[1]
        if escaped == "u":
            raise UsageError("the client properties hold a \\u that no four hexadecimal digits follow", "Java refuses such a file, too")
        return chr(int(escaped[1:], 16)) if escaped[0] == "u" else _ESCAPES.get(escaped, escaped)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", one, text)


def translate(properties: Mapping[str, str], source: str) -> ClientProperties:
    """`properties` as :class:`ClientProperties`; `source` names the file in errors."""
    _refuse_indirect(properties, source)
    protocol = properties.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise UsageError(f"{source}: security.protocol={protocol} does not exist", f"one of {', '.join(SECURITY_PROTOCOLS)}")
    given = {_RENAMED.get(key, key): value for key, value in properties.items()}
    if protocol.endswith("SSL"):
        given.update(key_material(properties, source))
    if protocol.startswith("SASL"):
        given.update(login_of(properties, source))
    librdkafka = {key: value for key, value in given.items() if key in _LIBRDKAFKA_SECURITY}
    librdkafka["security.protocol"] = protocol
    mechanism = librdkafka.pop("sasl.mechanisms", None) or librdkafka.get("sasl.mechanism")
    if mechanism:
        mechanism = librdkafka["sasl.mechanism"] = mechanism.strip().upper()
    elif protocol.startswith("SASL"):
        mechanism = librdkafka["sasl.mechanism"] = "GSSAPI"  # the default of both clients
    algorithm = librdkafka.get("ssl.endpoint.identification.algorithm")
    if algorithm is not None:  # librdkafka spells Java's empty value none
        librdkafka["ssl.endpoint.identification.algorithm"] = algorithm.strip().lower() or "none"
    if not librdkafka.get("ssl.key.password"):
        librdkafka.pop("ssl.key.password", None)
    if "TLS_" in librdkafka.get("ssl.cipher.suites", ""):
        del librdkafka["ssl.cipher.suites"]  # names of Java: OpenSSL chooses among its own, and may offer more
    return ClientProperties(
        raw=dict(properties),
        librdkafka=librdkafka,
        protocol=protocol,
        mechanism=mechanism,
        username=librdkafka.get("sasl.username"),
        password=librdkafka.get("sasl.password"),
        bootstrap_servers=properties.get("bootstrap.servers"),
        unsecured_subject=unsecured_subject(properties),
        access_token=given.get("access.token"),
    )


def _refuse_indirect(properties: Mapping[str, str], source: str) -> None:
    for key, value in properties.items():
        provider = re.search(r"\$\{\w+:", value)  # KIP-421, resolved by the Java client only
        if provider:  # the rest of the value may hold a password
            raise UsageError(f"{source}: {key} points to a config provider ({provider[0]}…}})", f"write the resolved value: {key}=…")
