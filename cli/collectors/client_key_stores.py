"""Trust and key stores of a client's properties as PEM: files stay files, Java's stores and inline PEM become texts in memory."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cli.engine.key_stores import KeyStore, UnreadableStore, read_key_store
from cli.shell.exits import UsageError

_BLOCK = re.compile(r"-+BEGIN ([A-Z0-9 ]+?)-+\s*((?:[^\s:]+:[^\r\n]*[\r\n]+)*)([A-Za-z0-9+/=\s]*?)-+END \1-+")


def key_material(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """``ssl.ca.*``, ``ssl.certificate.*`` and ``ssl.key.*`` of librdkafka for what `properties` say of stores, in either spelling.

    Raises :class:`UsageError` for a store that cannot be read, and for half of a client certificate.
    """
    if engine := properties.get("ssl.engine.factory.class"):
        raise UsageError(
            f"{source}: ssl.engine.factory.class={engine} makes its certificates in Java code, which diag does not run",
            "write ssl.ca.location, ssl.certificate.location and ssl.key.location with the PEM files that it uses",
        )
    settings = _trusted(properties, source) | _own(properties, source)
    given = {**properties, **settings}
    certificate = given.get("ssl.certificate.location") or given.get("ssl.certificate.pem")
    key = given.get("ssl.key.location") or given.get("ssl.key.pem")
    if bool(certificate) != bool(key):
        there, missing = ("certificate", "key") if certificate else ("key", "certificate")
        raise UsageError(
            f"{source} has a client {there} without its {missing}",
            "write both: ssl.keystore.location, or ssl.certificate.location and ssl.key.location",
        )
    return settings


def _trusted(properties: Mapping[str, str], source: str) -> dict[str, str]:
    if text := properties.get("ssl.truststore.certificates"):  # KIP-651: PEM in the property itself
        return {"ssl.ca.pem": _spelled(text, "ssl.truststore.certificates", source)}
    if text := properties.get("ssl.ca.pem"):
        return {"ssl.ca.pem": _spelled(text, "ssl.ca.pem", source)}
    location = properties.get("ssl.truststore.location")
    if not location:
        return {}
    if _is_pem(location, properties.get("ssl.truststore.type")):
        return {"ssl.ca.location": location}
    store = _opened(properties, "ssl.truststore", source)
    # Java trusts the certificates of key entries of a trust store, too
    if not (store.trusted or store.chain):
        raise UsageError(
            f"{source}: ssl.truststore.location={location} shows no certificate", "write the ssl.truststore.password that it was made with"
        )
    return {"ssl.ca.pem": store.trusted + store.chain}


def _own(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """The client's certificate chain and key."""
    texts = {
        target: _spelled(text, name, source)
        for target, names in (
            ("ssl.certificate.pem", ("ssl.keystore.certificate.chain", "ssl.certificate.pem")),
            ("ssl.key.pem", ("ssl.keystore.key", "ssl.key.pem")),
        )
        for name in names
        if (text := properties.get(name))
    }
    location = properties.get("ssl.keystore.location")
    if texts or not location:
        return texts
    if _is_pem(location, properties.get("ssl.keystore.type")):
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    store = _opened(properties, "ssl.keystore", source)
    if store.key is None:
        raise UsageError(
            f"{source}: ssl.keystore.location={location} holds no private key", f"keytool -list -keystore {location} shows what it holds"
        )
    # the key is in the clear now: a password would be one too many
    return {"ssl.certificate.pem": store.chain, "ssl.key.pem": store.key, "ssl.key.password": ""}


def _is_pem(location: str, kind: str | None) -> bool:
    if (kind or "").strip().upper() == "PEM":
        return True
    try:
        with open(location, "rb") as file:
            return b"-----BEGIN" in file.read(1 << 16)
    except OSError:
        return False  # Java says what is wrong with it


def _opened(properties: Mapping[str, str], of: str, source: str) -> KeyStore:
    """The store of ``ssl.truststore`` or ``ssl.keystore``."""
    location, password = properties[f"{of}.location"], properties.get(f"{of}.password")
    kind = (properties.get(f"{of}.type") or "JKS").strip()  # Kafka's default; Java finds out whether it is PKCS12
    try:
        return read_key_store(location, kind, password, properties.get("ssl.key.password"))
    except UnreadableStore as error:
        names = f"{of}.type, {of}.password" + (", ssl.key.password" if of == "ssl.keystore" else "")
        raise UsageError(f"{source}: Java cannot open {of}.location={location}: {error}", f"compare {names}") from None


def _spelled(text: str, name: str, source: str) -> str:
    """PEM as OpenSSL wants it: lines of 64. In a properties file the lines are joined, with or without blanks."""
    blocks = _BLOCK.findall(text)
    if not blocks:
        raise UsageError(f"{source}: {name} holds no PEM", "it begins with -----BEGIN …-----; a file's name goes into …location")
    return "".join(_block(label, head, re.sub(r"\s", "", body)) for label, head, body in blocks)


def _block(label: str, head: str, body: str) -> str:
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join([f"-----BEGIN {label}-----", *([head.strip(), ""] if head.strip() else []), *lines, f"-----END {label}-----", ""])
