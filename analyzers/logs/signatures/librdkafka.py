"""Kafka clients beneath those of Python, Go, C#, Node and C: librdkafka (rdkafka_broker.c, rdkafka_ssl.c, rdkafka_offset.c).

A line names its client between the bars, then the thread, then the broker it is about: ``security://host:port/id``, before the cluster is
known ``host:port/bootstrap``. Answers are no lines: a client that works again says nothing. What the error callback of a binding gets
begins with the broker: a security protocol of Kafka before it proves the client. The connection to a group's coordinator is called so, and
has no id. Where the other side hangs up at the first request, the words change by release, the state in which it did does not.
"""

from __future__ import annotations

from analyzers.logs.signatures.signature import Signature

# `|rdkafka#consumer-1| `, `RDKAFKA-3-FAIL: rdkafka#consumer-1: ` (up to 0.11), `rdkafka#consumer-1: FAIL - ` (.NET, as people log it)
_NAME = (
    r"(?:(?:[|\[]|RDKAFKA-\d-\w{1,20}: |(?=[\w.-]{1,100}#(?:consumer|producer)-\d+: [A-Z]{1,20} - ))(?P<client>[^|\[\]\n]{1,120}?)"
    r"(?:[|\]] ?|: (?:[A-Z]{1,20} - )?))?"
)
_CLIENT = _NAME + r"\[thrd:[^\]\n]{0,300}\]: ?(?:[^\s:/]{1,120}#(?:consumer|producer)-\d+: )?"
_BROKER = (
    r"(?:(?P<coordinator>Group|Txn)Coordinator(?:/\d+)?: )?(?:\w{1,20}://)?(?P<address>[\w.-]{1,255}:\d+)(?:/(?:(?P<broker>\d+)|\w+))?: "
)
_ANYWHERE = rf"(?:{_CLIENT}|(?<![\w./:-]))"  # texts that nobody else prints
_OF_CALLBACK = rf"(?:{_CLIENT}|(?=(?:sasl_)?(?:ssl|plaintext)://))"
_A = "%3|1746421200.013|FAIL|rdkafka#consumer-1| [thrd:sasl_ssl://kafka-1.internal:9094/bootstrap]: sasl_ssl://kafka-1.internal:9094/1: "

SIGNATURES = (
    Signature(
        id="rdkafka-access-denied",
        says="Client and broker do not accept each other's certificate, or the broker refuses the login.",
        versions="`Failed to verify` before 1.4",
        literals=(
            "Failed to verify broker certificate",
            "SSL handshake failed: ",
            "SASL authentication error: ",
            " mechanism handshake failed: ",
        ),
        pattern=rf"{_OF_CALLBACK}{_BROKER}"
        r"(?P<because>Failed to verify broker certificate[^\n]*|SSL handshake failed: (?!Disconnected)[^\n]*"
        r"|SASL authentication error: [^\n]*|SASL \S+ mechanism handshake failed: [^\n]*)",
        where="line",
        sample=_A + "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker certificate could not be"
        " verified, verify that ssl.ca.location is correctly configured (after 12ms in state SSL_HANDSHAKE)",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="rdkafka-handshake-broken",
        says="The other side ended a connection within the TLS hand-shake: a listener without TLS, or a broker or balancer that goes away.",
        literals=("SSL handshake failed: Disconnected",),
        pattern=rf"{_CLIENT}{_BROKER}SSL handshake failed: Disconnected",
        where="line",
        sample=_A + "SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener? (after 3021ms in state SSL_HANDSHAKE)",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="rdkafka-connect-failed",
        says="A connection to a broker was refused or gave up, or its name does not resolve.",
        literals=("Connect to ipv", "Failed to resolve '", "Connection setup timed out in state"),
        pattern=rf"{_ANYWHERE}{_BROKER}(?P<because>Connect to ipv[46]#\S+ failed: [^\n(]*|Failed to resolve '[^'\n]*': ?[^\n(]*"
        r"|Connection setup timed out)",
        where="line",
        sample=_A + "Connect to ipv4#10.0.1.1:9094 failed: Connection refused (after 2ms in state CONNECT, 4 identical error(s)"
        " suppressed)",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="rdkafka-hung-up",
        says="The other side ended a connection at the client's first request: it wants TLS or a login, or it goes away.",
        literals=(" in state APIVERSION_QUERY", "Disconnected while requesting ApiVersion", "Disconnected: verify that security.protocol"),
        pattern=rf"{_ANYWHERE}{_BROKER}(?P<because>Disconnected while requesting ApiVersion|Disconnected: verify that security\.protocol"
        r"|Disconnected(?:: connection closed by peer[^\n(]*)? ?(?=\(after \d+ms in state APIVERSION_QUERY))",
        where="line",
        versions="in words of its own 1.4+; `connection closed by peer` in the newest",
        sample="%6|1746421200.014|FAIL|rdkafka#producer-1| [thrd:kafka-1.internal:9093/bootstrap]: kafka-1.internal:9093/bootstrap:"
        " Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol configuration (connecting to a SSL"
        " listener?) or broker version is < 0.10 (see api.version.request) (after 5ms in state APIVERSION_QUERY)",
        keep=(20, 20),
        apart=("address",),
    ),
    Signature(
        id="rdkafka-brokers-down",
        says="A client has a connection to none of the brokers that it knows.",
        literals=(" brokers are down",),
        pattern=rf"{_ANYWHERE}(?P<down>\d{{1,5}})/(?P<known>\d{{1,5}}) brokers are down",
        where="line",
        sample="%3|1746421200.014|ERROR|rdkafka#consumer-1| [thrd:app]: rdkafka#consumer-1: 3/3 brokers are down",
        keep=(20, 20),
    ),
    Signature(
        id="rdkafka-coordinator-refused",
        says="A broker names no coordinator for the client's group: it cannot join, nor commit.",
        versions="`GroupCoordinator response` before 1.0",
        literals=("Coordinator response error: ",),
        pattern=rf"{_CLIENT}{_BROKER}Group \\?\"(?P<group>[^\"\\\n]{{1,255}})\\?\" (?:Find|Group)Coordinator response error: "
        r"(?P<error>[^\n\"]+)",
        where="line",
        sample='%7|1746421200.014|CGRPCOORD|rdkafka#consumer-1| [thrd:main]: sasl_ssl://kafka-1.internal:9094/bootstrap: Group "orders"'
        " FindCoordinator response error: COORDINATOR_NOT_AVAILABLE: The coordinator is not available.",
        keep=(20, 20),
    ),
    Signature(
        id="rdkafka-fatal",
        says="A client met an error that ends it: only a new instance goes on (a producer was fenced, a static member replaced).",
        versions="1.0+; of transactions 1.4+",
        literals=("Fatal error: ", "Fatal transaction error: "),
        pattern=rf"{_CLIENT}Fatal (?:transaction )?error: (?P<because>[^\n]*)",
        where="line",
        sample="%1|1746421200.014|TXNERR|rdkafka#producer-1| [thrd:main]: Fatal transaction error: Failed to end transaction: Broker:"
        " Producer attempted an operation with an old epoch (INVALID_PRODUCER_EPOCH)",
        keep=(20, 20),
    ),
    Signature(
        id="rdkafka-offset-reset",
        says="The wanted offset no longer (or not yet) exists, and the client went on at the beginning or at the end.",
        versions="with leader epoch and broker 2.1+",
        literals=(": offset reset (at ",),
        pattern=rf"{_CLIENT}(?P<topic>[\w.-]+) \[(?P<partition>\d+)\]: offset reset \(at (?:offset )?(?P<offset>\d+)\b[^\n]{{0,80}}\) to"
        r" (?:offset )?(?P<reset_to>BEGINNING|END|\d+)\b[^\n]*Offset out of range",
        where="line",
        sample="%4|1746421200.014|OFFSET|rdkafka#consumer-1| [thrd:main]: orders [1]: offset reset (at offset 390 (leader epoch 0), broker"
        " 1) to offset END (leader epoch -1): fetch failed due to requested offset not available on the broker:"
        " Broker: Offset out of range",
        keep=(200, 50),
    ),
    Signature(
        id="rdkafka-offset-none",
        says="The group has no committed offset of a partition, and the client begins at an end of it: normal at its first start.",
        versions="debug topic; with leader epoch and broker 2.1+",
        literals=(": no previously committed offset available", "Local: No offset stored"),
        pattern=rf"{_CLIENT}(?P<topic>[\w.-]+) \[(?P<partition>\d+)\]: offset reset \(at [^\n]{{0,80}}\) to"
        r" (?:(?:cached )?offset )?(?P<reset_to>BEGINNING|END|\d+)\b[^\n]*No offset stored",
        where="line",
        sample="%7|1746421200.014|OFFSET|rdkafka#consumer-1| [thrd:main]: orders [1]: offset reset (at offset INVALID (leader epoch -1),"
        " broker 1) to offset END (leader epoch -1): no previously committed offset available: Local: No offset stored",
        keep=(200, 50),
    ),
    Signature(
        id="rdkafka-fetch-start",
        says="The client begins to read a partition at this offset.",
        versions="debug fetch, topic, cgrp",
        literals=(" start fetching at offset ",),
        pattern=rf"{_CLIENT}Partition (?P<topic>[\w.-]+) \[(?P<partition>\d+)\] start fetching at offset (?P<offset>\d+)",
        where="line",
        sample="%7|1746421200.014|FETCH|rdkafka#consumer-1| [thrd:main]: Partition orders [1] start fetching at offset 390 (leader"
        " epoch 7)",
        keep=(200, 50),
    ),
    Signature(
        id="rdkafka-offset-fetched",
        says="The offset of a partition that a group has committed.",
        versions="debug cgrp, topic",
        literals=("OffsetFetchResponse: ",),
        pattern=rf"{_CLIENT}[^\n]{{0,120}}?OffsetFetchResponse: (?P<topic>[\w.-]+) \[(?P<partition>\d+)\] offset (?P<offset>\d+)",
        where="line",
        sample="%7|1746421200.014|OFFSETFETCH|rdkafka#consumer-1| [thrd:main]: GroupCoordinator/2: OffsetFetchResponse: orders [1] offset"
        " 390, leader epoch 7, metadata 0 byte(s): NULL",
        keep=(200, 50),
    ),
)
