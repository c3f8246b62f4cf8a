"""SASL logins that our own connections can speak, each as a dance of bytes; what cannot be had here is said with what is missing.

PLAIN and SCRAM need a user and a password. OAUTHBEARER takes its token from the endpoint of the job's own properties (client credentials,
KIP-768), from a ``file:`` URL, or makes the unsecured one of a test cluster. GSSAPI and AWS_MSK_IAM need a library of their own.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kafka.net.sasl import get_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider

from analyzers.bundle.small_files import small_file
from analyzers.secrets import scrub
from cli.collectors.client_properties import ClientProperties

FEWEST_ROUNDS, MOST_ROUNDS = 4096, 100_000
"""Of SCRAM. Kafka refuses fewer, and lets no user be made with more than 16,384."""
LIBRARIES = {"GSSAPI": "gssapi", "AWS_MSK_IAM": "botocore"}
"""Mechanism → Python package without which it cannot be spoken; neither is a dependency of ours."""

UNSPEAKABLE = {
    "GSSAPI": "install the Python package gssapi beside diag and get a ticket (kinit)",
    "AWS_MSK_IAM": "install the Python package botocore beside diag and have AWS credentials and a region",
}


class NoLogin(Exception):
    """The login cannot even begin; the text says what is missing. `here`: this host lacks something, the properties may be right."""

    def __init__(self, why: str, *, here: bool = False) -> None:
        super().__init__(why)
        self.here = here


async def login_dance(client: ClientProperties, host: str, seconds: float) -> Any:
    """The client side of the login as a ``SaslMechanism`` of kafka-python. Raises :class:`NoLogin`."""
    mechanism = client.mechanism or "GSSAPI"
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM-SHA-"):
        if client.username is None or client.password is None:
            raise NoLogin(f"no user and password for {mechanism}: write sasl.username and sasl.password, or sasl.jaas.config")
        dance = get_sasl_mechanism(mechanism)(
            sasl_plain_username=client.username, sasl_plain_password=client.password, sasl_mechanism=mechanism
        )
        return dance if mechanism == "PLAIN" else _Bounded(dance)
    if mechanism == "OAUTHBEARER":
        token = await bearer_token(client, seconds)
        return get_sasl_mechanism(mechanism)(sasl_oauth_token_provider=_Given(token, extensions_of(client)))
    library = LIBRARIES.get(mechanism)
    if library is None:
        raise NoLogin(f"{mechanism} is a mechanism that diag does not speak", here=True)
    if find_spec(library) is None:
        raise NoLogin(f"{mechanism} cannot be spoken from here: {UNSPEAKABLE[mechanism]}", here=True)
    try:
        service = client.librdkafka.get("sasl.kerberos.service.name") or client.raw.get("sasl.kerberos.service.name") or "kafka"
        return get_sasl_mechanism(mechanism)(sasl_kerberos_service_name=service, host=host, security_protocol=client.protocol)
    except Exception as error:  # these libraries raise errors of their own; all mean that this host has no ticket or credentials
        raise NoLogin(f"{mechanism} cannot be spoken from here ({error}): {UNSPEAKABLE[mechanism]}", here=True) from error


class _Bounded:
    """A login by SCRAM with as many rounds as Kafka's own have: with fewer the password can be guessed, many more keep this host busy."""

    def __init__(self, dance: Any) -> None:
        self._dance = dance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dance, name)

    def receive(self, auth_bytes: bytes) -> Any:
        """As the dance does. Raises `ValueError` for rounds out of bounds."""
        rounds = re.search(rb"(?:^|,)i=(\d{1,9})(?:,|$)", auth_bytes)
        if rounds is not None and not FEWEST_ROUNDS <= int(rounds[1]) <= MOST_ROUNDS:
            raise ValueError(f"the broker asks for {int(rounds[1]):,} rounds of SCRAM; {FEWEST_ROUNDS:,} to {MOST_ROUNDS:,} are made")
        return self._dance.receive(auth_bytes)


async def bearer_token(client: ClientProperties, seconds: float) -> str:
    """The token for OAUTHBEARER; one serves all brokers. Raises :class:`NoLogin`."""
    return await asyncio.wait_for(asyncio.to_thread(_token, client, seconds), seconds + 0.5)


class _Given(AbstractTokenProvider):  # type: ignore[misc]  # the library has no types
    def __init__(self, token: str, extensions: dict[str, str]) -> None:
        super().__init__()
        self._token, self._extensions = token, extensions

    def token(self) -> str:
        return self._token

    def extensions(self) -> dict[str, str]:
        return self._extensions


def extensions_of(client: ClientProperties) -> dict[str, str]:
    """SASL extensions that go with the token (KIP-342), as Confluent Cloud wants them: logicalCluster, identityPoolId."""
    pairs = (pair.partition("=") for pair in client.librdkafka.get("sasl.oauthbearer.extensions", "").split(",") if pair.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}


_tokens: dict[tuple[str, str, str, str], str] = {}
_one_at_a_time = threading.Lock()  # many brokers are asked at once, and one token serves them all


def _token(client: ClientProperties, seconds: float) -> str:
    given = client.librdkafka
    if client.access_token is not None:
        return client.access_token
    if client.unsecured_subject is not None:
        return unsecured_token(client.unsecured_subject, time.time())
    url = given.get("sasl.oauthbearer.token.endpoint.url", "")
    if url.startswith("file:"):
        try:
            return small_file(Path(urllib.parse.unquote(urllib.parse.urlsplit(url).path))).decode("utf-8").strip()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it is no text"
            raise NoLogin(f"the token file of sasl.oauthbearer.token.endpoint.url={scrub(url)} cannot be read: {why}") from error
    names = ("sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.scope")
    identity, secret, scope = (given.get(name, "") for name in names)
    if not url or not identity or not secret:
        raise NoLogin(
            "no token for OAUTHBEARER: write sasl.oauthbearer.token.endpoint.url, sasl.oauthbearer.client.id and "
            "sasl.oauthbearer.client.secret (or a file: URL that holds a token)"
        )
    with _one_at_a_time:
        key = (url, identity, secret, scope)
        if key not in _tokens:
            _tokens[key] = _asked_for(url, identity, secret, scope, given.get("https.ca.location"), seconds)
        return _tokens[key]


def _asked_for(url: str, identity: str, secret: str, scope: str, authority: str | None, seconds: float) -> str:
    """A token by client credentials (RFC 6749, 4.4). The secret goes to that one address, over TLS or inside this host."""
    place = urllib.parse.urlsplit(url)
    if place.scheme not in ("https", "http"):
        raise NoLogin(f"sasl.oauthbearer.token.endpoint.url={scrub(url)} is no https address")
    if place.scheme == "http" and not _is_this_host(place.hostname or ""):
        raise NoLogin(f"diag does not send the client secret in the clear to {scrub(url)}; give an https token endpoint", here=True)
    form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
    basic = base64.b64encode(f"{identity}:{secret}".encode()).decode()
    head = {"Authorization": f"Basic {basic}", "Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode(), head)
    try:
        trusting = [urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=authority))] if authority else []
        direct = [urllib.request.ProxyHandler({})] if place.scheme == "http" else []  # no proxy may see what is said inside this host
        with urllib.request.build_opener(_NoRedirect, *direct, *trusting).open(request, timeout=seconds) as answer:
            told = json.loads(answer.read(1 << 20))
        return str(told["access_token"])
    except urllib.error.HTTPError as error:
        if 300 <= error.code < 400:
            to = scrub(urllib.parse.urljoin(url, error.headers.get("Location") or ""))
            raise NoLogin(
                f"the token endpoint {scrub(url)} redirects to {to}; diag does not send the client secret there", here=True
            ) from error
        raise NoLogin(f"the token endpoint {scrub(url)} refuses: {error.code} {error.reason}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoLogin(f"the token endpoint {scrub(url)} gives no token: {getattr(error, 'reason', None) or error}") from error


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """urllib would repeat the Authorization header to whatever host a redirect names."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _is_this_host(name: str) -> bool:
    """Whether `name` is surely this host: a token service beside the job (a sidecar) is asked without TLS."""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def unsecured_token(subject: str, now: float) -> str:
    """An unsecured JSON web token, as OAuthBearerLoginModule makes it without a token endpoint; only test clusters accept it."""
    parts = ({"alg": "none"}, {"sub": subject, "iat": int(now), "exp": int(now) + 3600})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts) + "."
