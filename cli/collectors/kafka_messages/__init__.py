"""Questions about groups of KIP-848, share groups (KIP-932) and streams groups (KIP-1071), which kafka-python does not know."""

from __future__ import annotations

from kafka.protocol.api_message import ApiMessage


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # the library has no types
    """State, epochs and members of groups with the protocol of KIP-848."""


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """Its answer."""


class ShareGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # the library has no types
    """State and members of share groups."""


class ShareGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """Its answer."""


class DescribeShareGroupOffsetsRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """Where the share partitions of share groups begin; version 1 (Kafka 4.2) with their lag."""


class DescribeShareGroupOffsetsResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """Its answer."""


class StreamsGroupDescribeRequest(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """State, members and tasks of streams groups."""


class StreamsGroupDescribeResponse(ApiMessage, load_json=__name__):  # type: ignore[call-arg, misc]  # as above
    """Its answer."""
