"""Which addresses are asked that the user has not named: metadata of a broker lead to others, and clients of Kafka follow them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from cli.collectors.client_properties import ClientProperties

_OF_CLOUDS = frozenset({"metadata.google.internal", "metadata", "instance-data", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"})
"""Where machines of a cloud get their credentials, beside 169.254.169.254."""
_SAME_NETWORK = {4: 16, 6: 48}
"""Bits that addresses of one network share."""


_only: frozenset[tuple[str, int]] | None = None


def allow_only(addresses: Iterable[tuple[str, int]] | None) -> None:
    """From now on ask none but these hosts and ports, whoever names others; None: anyone, as `withheld` says."""
    global _only
    _only = None if addresses is None else frozenset((_spelled(host), port) for host, port in addresses)


def is_allowed(host: str, port: int) -> bool:
    """Whether the list of `allow_only`, if there is one, has the address."""
    return _only is None or (_spelled(host), port) in _only


def _spelled(host: str) -> str:
    return host.lower().rstrip(".")


def withheld(host: str, port: int, client: ClientProperties, ip: str | None = None) -> str | None:
    """Why `host`, which has the address `ip`, is not asked, None when it may be: link-local addresses and those of a cloud's metadata
    service never are, and no password of PLAIN goes without TLS to where neither domain nor network is one of a bootstrap server."""
    if not is_allowed(host, port):
        return f"{host}:{port} is none of the addresses that this diag may ask (--allow-address)"
    if not client.named or host in client.named:
        return None
    address = _address(ip or host)
    if host.lower().rstrip(".") in _OF_CLOUDS or (address is not None and (address.is_link_local or str(address) in _OF_CLOUDS)):
        return f"{host} is link-local or a cloud's metadata service: diag connects there only where a bootstrap server is named so"
    if client.protocol != "SASL_PLAINTEXT" or client.mechanism != "PLAIN" or any(_is_near(host, address, name) for name in client.named):
        return None
    return (
        f"the password of PLAIN is not sent without TLS to {host}, which the cluster names: it is in no domain and no network of a "
        "bootstrap server; use SASL_SSL, or name it with --bootstrap-server, too"
    )


def _is_near(host: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None, name: str) -> bool:
    known = _address(name)
    if address is not None and known is not None and _address(host) is not None:
        bits = _SAME_NETWORK[known.version]
        return address in ipaddress.ip_network(f"{known}/{bits}", strict=False) if address.version == known.version else False
    domain = name.lower().partition(".")[2]
    if known is not None or "." not in domain:
        return "." not in name and "." not in host and ":" not in host
    return host.lower().rstrip(".").endswith(f".{domain.rstrip('.')}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
