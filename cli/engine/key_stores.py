"""Java key stores (JKS, PKCS12, JCEKS) opened by Java itself, as PEM texts that stay in memory.

No library of Python reads them all, and a Java is always there. It is started for this alone: py4j's own gateway without Spark, behind a
token, on loopback. Passwords and keys are in no argument, no variable of the environment and no file.
"""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli.engine.java import find_java


class UnreadableStore(Exception):
    """A store that Java cannot open; the text is Java's."""


@dataclass(frozen=True)
class KeyStore:
    """What a store holds, as PEM: `trusted` certificates, and the first private `key` with its certificate `chain`."""

    trusted: str
    chain: str
    key: str | None


def read_key_store(path: str, kind: str, password: str | None, key_password: str | None) -> KeyStore:
    """Open the store at `path`. Java takes one of its types for another where the file is of that (keystore.type.compat).

    Raises :class:`UnreadableStore`, and `JavaMissing` where there is no Java.
    """
    from py4j.protocol import Py4JJavaError

    with _java() as gateway:
        try:
            return _read(gateway, path, kind, password, key_password)
        except Py4JJavaError as error:
            raise UnreadableStore(_words(error)) from None  # the trace of Java may quote what it was given
        except Exception:  # PySpark, once started, asks its own JVM what an exception of any gateway is
            raise UnreadableStore("Java cannot open it: a wrong password, or no store of this type") from None


def _read(gateway: Any, path: str, kind: str, password: str | None, key_password: str | None) -> KeyStore:
    store = gateway.jvm.java.security.KeyStore.getInstance(kind)
    stream = gateway.jvm.java.io.FileInputStream(path)
    try:
        store.load(stream, _characters(gateway, password))
    finally:
        stream.close()
    trusted, chain, key = "", "", None
    aliases = store.aliases()
    while aliases.hasMoreElements():
        alias = aliases.nextElement()
        if not store.isKeyEntry(alias):
            trusted += pem("CERTIFICATE", store.getCertificate(alias).getEncoded())
        elif key is None:
            secret = store.getKey(alias, _characters(gateway, key_password if key_password is not None else password))
            certificates = store.getCertificateChain(alias)
            if certificates is not None:
                key = pem("PRIVATE KEY", _encoded(gateway, secret))
                chain = "".join(pem("CERTIFICATE", each.getEncoded()) for each in certificates)
    return KeyStore(trusted, chain, key)


def _encoded(gateway: Any, key: Any) -> bytes:
    """The key as PKCS#8; asked of its interface, since the classes of keys are not open to callers."""
    encoded = gateway.jvm.java.lang.Class.forName("java.security.Key").getMethod("getEncoded", gateway.new_array(gateway.jvm.Class, 0))
    return bytes(encoded.invoke(key, gateway.new_array(gateway.jvm.Object, 0)))


def pem(label: str, content: bytes) -> str:
    """`content` (DER) as a block of PEM."""
    body = "\n".join(textwrap.wrap(base64.b64encode(content).decode(), 64))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n"


def _characters(gateway: Any, text: str | None) -> Any:
    if text is None:
        return None
    array = gateway.new_array(gateway.jvm.char, len(text))
    for at, letter in enumerate(text):
        array[at] = letter
    return array


def _words(error: Any) -> str:
    java = error.java_exception
    causes = []
    while java is not None:
        causes.append(java.getMessage() or java.getClass().getSimpleName())
        java = java.getCause()
    return ": ".join(dict.fromkeys(causes))


@contextmanager
def _java() -> Iterator[Any]:
    """A gateway into a Java that ends with it."""
    import pyspark
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    java_path, quiet = str(find_java().path), ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-Xshare:auto"]
    port, token = launch_gateway(jarpath=str(jar), java_path=java_path, javaopts=quiet, die_on_exit=True, enable_auth=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield gateway
    finally:
        gateway.shutdown()
