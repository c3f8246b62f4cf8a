"""What a setting, a header or a field is called decides whether its value is a secret.

The words are those of Flink's ``GlobalConfiguration.SENSITIVE_KEYS``, Kafka's settings of type PASSWORD, Spark's
``spark.redaction.regex``, the deny list of detect-secrets' keyword plug-in, and the settings of object stores.
"""

from __future__ import annotations

import re
from enum import Enum


class Name(Enum):
    """How much a name says of its value."""

    SURE = "a secret, always"
    HEADER = "a secret that may hold blanks, up to the end of its line"
    LIKELY = "a secret if it is no number and no word of everybody's"
    MAYBE = "a secret if it looks like one"
    JAAS = "options of a login module, up to the semicolon"


SIGN = re.compile(
    r"secret[ ._-]?access[ ._-]?key|access[ ._-]?key[ ._-]?id|(?:secret|client)[ ._-]key"
    r"|client[ ]secret|pass[ ]phrase|pass|pwd|(?<![a-z])(?:bind|db|root|admin|user)?pw(?![a-z])|mot.de.passe|wachtwoord|secret|token"
    r"|credential|cookie|authorization|jaas|auth|sig(?:nature)?|jsessionid|phpsessid|user[._-]?info|(?:api|access|account|private|shared|storage|service"
    r"|subscription|licen[sc]e|signing|encryption|master|auth|sas|app|keystore"
    r"|functions|fernet|hmac|signature|cipher|crypto|tls|ssh|aes|jwt)[ ._-]?key"
    r"|contrase[nñ]a|senha|пароль|parola|hasło|lösenord|adgangskode|salasana|şifre|密码|パスワード|비밀번호"
    r"|(?<![a-z])(?:otp|totp)(?![a-z])|saml[ ._-]?response"
    r"|docker[ ._-]?auth[ ._-]?config|confluent[ ._-]?licen[sc]e",
    re.I,
)
"""A part of every name that can stand before a secret."""
FOREIGN = (
    "contraseña", "contrasena", "senha", "пароль", "parola", "hasło", "lösenord", "adgangskode", "salasana", "şifre", "密码", "パスワード",
    "비밀번호",
)  # fmt: skip
"""What a password is called elsewhere."""
SIGNS_OF_NAMES = (
    "pass", "pwd", "pw", "wachtwoord", "secret", "token", "key", "auth", "credential", "cookie", "jaas", "sig", "jsessionid", "phpsessid",
    "user.info", "user_info", "user-info", "userinfo", "licen", "otp", "saml", *FOREIGN,
)  # fmt: skip
"""One of them, in small letters, is in all that it matches."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_OPTION = re.compile(r"^-+[DP]?(?=[a-z])")
"""``-Dpass=``, ``--pass``: the name begins behind it."""
_SURE = (
    "password", "passwords", "passwd", "passphrase", "passcode", "keypass", "storepass", "dbpass", "requirepass", "masterauth", "pwd",
    "secret", "secretkey", "secretaccesskey", "sharedaccesssignature", "secretkeybase", "apikey", "apisecret", "accesskey", "accesskeyid",
    "privatekey", "sharedkey", "signingkey", "encryptionkey", "masterkey", "authkey", "storagekey", "accountkey", "servicekey",
    "subscriptionkey", "licensekey", "licencekey", "appkey", "saskey", "keystorekey", "xamzsignature", "xgoogsignature", "jsessionid",
    "functionskey", "fernetkey", "hmackey", "signaturekey", "cipherkey", "cryptokey", "tlskey", "sshkey", "aeskey", "jwtkey", "passwort",
    "motdepasse", "wachtwoord", "bindpw", "dbpw", "phpsessid", "authuserinfo", "xamzcredential", "xgoogcredential",
    "dockerauthconfig", "confluentlicense", "passwdhash", "passwordhash", "rootpw", "adminpw", "userpw", "samlresponse", "otp",
)  # fmt: skip
_HEADERS = ("authorization", "cookie")
_INNOCENT_ENDS = frozenset({
    "alias", "algorithm", "attempts", "audience", "backoff", "bytes", "cache", "callback", "class", "conversion", "count", "decoder",
    "deserializer", "enable", "enabled", "encoder", "encoding", "endpoint", "expiration", "expires", "expiry", "factor", "file", "format",
    "handler", "host", "interval", "issuer", "iterations", "jitter", "kind", "length", "lifetime", "location", "max", "mechanism", "min",
    "mode", "ms", "name", "names", "owner", "path", "percent", "policy", "port", "principal", "protocol", "provider", "providers", "ref",
    "renewal", "renewer", "required", "retries", "scope", "seconds", "serializer", "service", "size", "source", "state", "status", "store",
    "time", "timeout", "ttl", "type", "uri", "url", "version", "window",
})  # fmt: skip
_NO_SECRET_TOKENS = frozenset({
    "cancellation", "continuation", "expected", "fencing", "illegal", "invalid", "leader", "next", "page", "resume", "sync", "unexpected",
    "unknown", "unrecognized", "watermark",
})  # fmt: skip
"""Flink's fencing tokens are ids; what a parser calls a token is a piece of text."""


def judged(name: str, before: str = "") -> Name | None:
    """What `name` says of its value, None when nothing; `before`: the word in front of it."""
    if name.lower().endswith(FOREIGN):
        return Name.SURE
    words = [word.lower() for word in _WORDS.findall(_OPTION.sub("", name))]
    while len(words) > 1 and words[-1].isdigit():
        words.pop()
    if not words:
        return None
    joined, last = "".join(words), words[-1]
    if joined.endswith("corewindowsnet"):  # fs.azure.account.key.ACCOUNT.dfs.core.windows.net: Hadoop puts the account behind it
        return Name.SURE if any(word in joined for word in ("accountkey", "secret", "sas", "password")) else None
    if joined.startswith("fsazureaccountkey") and len(words) > 4:
        return Name.SURE
    if last in _INNOCENT_ENDS:
        return None
    if joined.endswith("jaasconfig"):
        return Name.JAAS
    if joined.endswith(_SURE) or last == "pw" or (last == "pass" and len(words) > 1):
        return Name.SURE
    if joined.endswith(_HEADERS):
        return Name.HEADER
    if last == "token":
        if before.lower() in _NO_SECRET_TOKENS or (len(words) > 1 and words[-2] in _NO_SECRET_TOKENS):
            return None
        return Name.LIKELY if len(words) > 1 else Name.MAYBE
    if last == "pass":
        return Name.LIKELY
    if last in ("auth", "credential", "credentials", "secrets", "sig", "signature", "tokens"):
        return Name.MAYBE
    return None
