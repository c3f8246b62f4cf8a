"""Which addresses are asked that the user has not named: metadata of a broker lead to others, and clients of Kafka follow them."""

from __future__ import annotations

import ipaddress

from cli.collectors.client_properties import ClientProperties

_OF_CLOUDS = frozenset({"metadata.google.internal", "metadata", "instance-data", "fd00:ec2::254", "100.100.100.200", "168.63.129.16"})
"""Where machines of a cloud get their credentials, beside 169.254.169.254."""
_SAME_NETWORK = {4: 16, 6: 48}
"""Bits that addresses of one network share."""


def withheld(host: str, client: ClientProperties, ip: str | None = None) -> str | None:
    """Why `host`, which has the address `ip`, is not asked, None when it may be: link-local addresses and those of a cloud's metadata
    service never are, and no password of PLAIN goes without TLS to where neither domain nor network is one of a bootstrap server."""
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
