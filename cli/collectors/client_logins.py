"""``sasl.jaas.config`` of a client's properties: the login modules that Kafka clients are run with, as librdkafka's properties."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cli.shell.exits import UsageError

_JAAS = re.compile(r"(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*)", re.DOTALL | re.IGNORECASE)
_JAAS_OPTION = re.compile(r"""([\w.-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'([^']*)'|([^\s;"']+))""")

# options of OAuthBearerLoginModule: Kafka's own, and those of Strimzi's callback handler, which many clusters on Kubernetes use
_OAUTH: Mapping[str, str] = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
    "oauth.client.id": "sasl.oauthbearer.client.id",
    "oauth.client.secret": "sasl.oauthbearer.client.secret",
    "oauth.scope": "sasl.oauthbearer.scope",
    "oauth.token.endpoint.uri": "sasl.oauthbearer.token.endpoint.url",
    "oauth.access.token": "access.token",
}
_KERBEROS: Mapping[str, str] = {
    "principal": "sasl.kerberos.principal",
    "keyTab": "sasl.kerberos.keytab",
    "serviceName": "sasl.kerberos.service.name",
}


def login_of(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """What ``sasl.jaas.config`` says, as librdkafka's properties; empty where there is none. Raises :class:`UsageError`."""
    _refuse_assertions(properties, source)
    jaas = properties.get("sasl.jaas.config")
    if not jaas or not jaas.strip():
        return {}
    match = _JAAS.match(jaas.strip())
    if match is None:
        raise UsageError(f"{source}: sasl.jaas.config cannot be understood", "write sasl.username=… and sasl.password=… instead")
    module = match["module"].rpartition(".")[2]
    options = {
        key: (re.sub(r"\\(.)", r"\1", double) or single or bare) for key, double, single, bare in _JAAS_OPTION.findall(match["options"])
    }
    if module in ("PlainLoginModule", "ScramLoginModule"):
        return _user_and_password(options, properties, source)
    if module == "OAuthBearerLoginModule":
        extensions = [f"{key.removeprefix('extension_')}={value}" for key, value in options.items() if key.startswith("extension_")]
        told = {_OAUTH[key]: value for key, value in options.items() if key in _OAUTH}
        return {"sasl.oauthbearer.method": "oidc"} | told | ({"sasl.oauthbearer.extensions": ",".join(extensions)} if extensions else {})
    if module == "IAMLoginModule":  # AWS_MSK_IAM: the credentials are those of the host
        return {}
    if module == "Krb5LoginModule":
        return {_KERBEROS[key]: value for key, value in options.items() if key in _KERBEROS}
    raise UsageError(
        f"{source}: the login module {module} of sasl.jaas.config exists only in Java",
        "use a listener of the cluster with SASL PLAIN, SCRAM or OAUTHBEARER, or with client certificates",
    )


def _user_and_password(options: Mapping[str, str], properties: Mapping[str, str], source: str) -> dict[str, str]:
    if options.get("tokenauth", "").lower() == "true":
        raise UsageError(
            f"{source}: sasl.jaas.config has tokenauth=true: a delegation token can be used by Java clients only",
            "give a user and its password (SCRAM), or a client certificate",
        )
    if "username" in options and "password" in options:
        return {"sasl.username": options["username"], "sasl.password": options["password"]}
    handler = properties.get("sasl.client.callback.handler.class") or properties.get("sasl.login.callback.handler.class")
    what = f"; {handler} would fetch them in Java" if handler else ""
    raise UsageError(
        f"{source}: sasl.jaas.config holds no username and password{what}", "write sasl.username=… and sasl.password=… instead"
    )


def _refuse_assertions(properties: Mapping[str, str], source: str) -> None:
    """KIP-1258 and librdkafka: a JWT that the client signs. Nothing here can sign."""
    grant = properties.get("sasl.oauthbearer.grant.type", "")
    asserted = next((key for key in properties if key.startswith("sasl.oauthbearer.assertion.")), None)
    if asserted or "jwt-bearer" in grant:
        named = asserted or f"sasl.oauthbearer.grant.type={grant}"
        raise UsageError(
            f"{source}: {named}: diag cannot sign a JWT assertion",
            "put a token of the job into a file: sasl.oauthbearer.token.endpoint.url=file:///PATH, mode 0600",
        )


def unsecured_subject(properties: Mapping[str, str]) -> str | None:
    """The user of a token without a signature. Source: OAuthBearerUnsecuredLoginCallbackHandler."""
    match = re.search(r"""unsecuredLoginStringClaim_sub\s*=\s*["']?([^"';\s]+)""", properties.get("sasl.jaas.config", ""))
    return match[1] if match else None
