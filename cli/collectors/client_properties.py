"""The job's own client properties (``--command-config FILE``), in Java or librdkafka spelling, as what our two Kafka clients need.

Secrets come by this file only, never by an option or the environment, which process lists and CI logs show.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cli.shell.exits import UsageError

SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# Java key → librdkafka key, where the value means the same. Everything else of these two families passes as it is.
_RENAMED: Mapping[str, str] = {
    "ssl.truststore.certificates": "ssl.ca.pem",  # KIP-651: PEM text in the property itself
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
_LIBRDKAFKA_SECURITY = (
    "security.protocol", "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location",
    "ssl.key.pem", "ssl.key.password", "ssl.keystore.location", "ssl.keystore.password", "ssl.cipher.suites",
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

    @property
    def uses_tls(self) -> bool:
        return self.protocol.endswith("SSL")

    @property
    def uses_sasl(self) -> bool:
        return self.protocol.startswith("SASL")

    def settings(self) -> dict[str, str]:
        """The properties without anything secret, as facts about the client."""
        return {key: value for key, value in sorted(self.raw.items()) if not _HOLDS_SECRET.search(key)}

    def tls_context(self) -> ssl.SSLContext:
        """The context of our own TLS handshakes; raises :class:`UsageError` when a certificate file cannot be loaded."""
        context = ssl.create_default_context()
        given = self.librdkafka
        try:
            if given.get("ssl.ca.location") or given.get("ssl.ca.pem"):
                context = ssl.create_default_context(cafile=given.get("ssl.ca.location"), cadata=given.get("ssl.ca.pem"))
            if given.get("ssl.certificate.location"):
                context.load_cert_chain(given["ssl.certificate.location"], given.get("ssl.key.location"), given.get("ssl.key.password"))
        except (OSError, ssl.SSLError) as error:
            files = ", ".join(v for k in ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location") if (v := given.get(k)))
            raise UsageError(f"cannot load the TLS certificates {files}: {error}", "give PEM files that this user can read") from error
        # librdkafka and Java agree: an empty value switches the comparison of names off
        if given.get("ssl.endpoint.identification.algorithm") in ("", "none"):
            context.check_hostname = False
        if given.get("enable.ssl.certificate.verification", "true").lower() == "false":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def read_client_properties(path: Path) -> ClientProperties:
    """Read and translate a properties file.

    Raises :class:`UsageError`, with the line to write instead where Java's way has no equivalent.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot read the client properties {path}: {error}", "--command-config takes a Java or librdkafka .properties file"
        ) from error
    return translate(parse_properties(text), str(path))


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
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise UsageError(f"{source}: security.protocol={protocol} does not exist", f"one of {', '.join(SECURITY_PROTOCOLS)}")
    given = {_RENAMED.get(key, key): value for key, value in properties.items()}
    given.update(_stores(properties, source))
    given.update(_login(properties, source))
    if properties.get("ssl.keystore.type", "").upper() == "PEM":
        given.pop("ssl.keystore.location", None)  # librdkafka takes PKCS12 only under this name
    librdkafka = {key: value for key, value in given.items() if key in _LIBRDKAFKA_SECURITY}
    librdkafka["security.protocol"] = protocol
    mechanism = librdkafka.pop("sasl.mechanisms", None) or librdkafka.get("sasl.mechanism")
    if mechanism:
        librdkafka["sasl.mechanism"] = mechanism
    elif protocol.startswith("SASL"):
        mechanism = librdkafka["sasl.mechanism"] = "GSSAPI"  # the default of both clients
    if librdkafka.get("ssl.endpoint.identification.algorithm") == "":
        librdkafka["ssl.endpoint.identification.algorithm"] = "none"  # how librdkafka spells Java's empty value
    return ClientProperties(
        raw=dict(properties),
        librdkafka=librdkafka,
        protocol=protocol,
        mechanism=mechanism,
        username=librdkafka.get("sasl.username"),
        password=librdkafka.get("sasl.password"),
        bootstrap_servers=properties.get("bootstrap.servers"),
        unsecured_subject=_unsecured_subject(properties.get("sasl.jaas.config", "")),
    )


def _refuse_indirect(properties: Mapping[str, str], source: str) -> None:
    for key, value in properties.items():
        provider = re.search(r"\$\{\w+:", value)  # KIP-421, resolved by the Java client only
        if provider:  # the rest of the value may hold a password
            raise UsageError(f"{source}: {key} points to a config provider ({provider[0]}…}})", f"write the resolved value: {key}=…")


def _stores(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """Java trust and key stores as librdkafka settings. PEM passes, PKCS12 passes as a key store, JKS cannot be read outside Java."""
    settings: dict[str, str] = {}
    truststore = properties.get("ssl.truststore.location")
    if truststore:
        kind = properties.get("ssl.truststore.type", "JKS").upper()
        if kind != "PEM":
            store = f"-keystore {truststore} -storetype {kind}"
            raise UsageError(
                f"{source}: ssl.truststore.location={truststore} is a {kind} store, which only Java reads",
                f"export it (keytool -exportcert -rfc -alias ALIAS {store} -file ca.pem) and write ssl.ca.location=ca.pem instead",
            )
        settings["ssl.ca.location"] = truststore
    keystore = properties.get("ssl.keystore.location")
    if keystore:
        kind = properties.get("ssl.keystore.type", "JKS").upper()
        if kind == "PEM":
            settings.update({"ssl.certificate.location": keystore, "ssl.key.location": keystore})
        elif "ssl.keystore.type" in properties or not keystore.endswith((".p12", ".pfx")):
            raise UsageError(
                f"{source}: ssl.keystore.location={keystore} is a {kind} store",
                f"export it (keytool -importkeystore -srckeystore {keystore} -destkeystore client.p12 -deststoretype PKCS12; "
                "openssl pkcs12 -in client.p12 -out client.pem -nodes) and write "
                "ssl.certificate.location=client.pem and ssl.key.location=client.pem instead",
            )
    return settings


def _unsecured_subject(jaas: str) -> str | None:
    """Source: OAuthBearerUnsecuredLoginCallbackHandler."""
    match = re.search(r"""unsecuredLoginStringClaim_sub\s*=\s*["']?([^"';\s]+)""", jaas)
    return match[1] if match else None


_JAAS = re.compile(r"(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*)", re.DOTALL)
_JAAS_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([^\s;"']+))""")


def _login(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """User and password out of ``sasl.jaas.config``; empty where there is none."""
    jaas = properties.get("sasl.jaas.config")
    if not jaas:
        return {}
    match = _JAAS.match(jaas.strip())
    if match is None:
        raise UsageError(f"{source}: sasl.jaas.config cannot be understood", "write sasl.username=… and sasl.password=… instead")
    module = match["module"].rpartition(".")[2]
    options = {
        key: (re.sub(r"\\(.)", r"\1", double) or single or bare) for key, double, single, bare in _JAAS_OPTION.findall(match["options"])
    }
    if module in ("PlainLoginModule", "ScramLoginModule"):
        if "username" not in options or "password" not in options:
            raise UsageError(
                f"{source}: sasl.jaas.config holds no username and password", "write sasl.username=… and sasl.password=… instead"
            )
        return {"sasl.username": options["username"], "sasl.password": options["password"]}
    if module == "OAuthBearerLoginModule":
        named = {
            "clientId": "sasl.oauthbearer.client.id",
            "clientSecret": "sasl.oauthbearer.client.secret",
            "scope": "sasl.oauthbearer.scope",
        }
        return {"sasl.oauthbearer.method": "oidc"} | {named[key]: value for key, value in options.items() if key in named}
    if module == "IAMLoginModule":  # AWS_MSK_IAM: the credentials are those of the host
        return {}
    if module == "Krb5LoginModule":
        named = {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"}
        return {named[key]: value for key, value in options.items() if key in named}
    raise UsageError(
        f"{source}: the login module {module} exists only in Java", "use a SASL_PLAINTEXT, SCRAM or SSL listener of the cluster instead"
    )
