"""What the user that asks may not see, and which ACL would show it.

Brokers refuse aloud only what is asked for by name. Without DESCRIBE on the cluster ListGroups lists only groups that the user may
DESCRIBE; Metadata and OffsetFetch leave out topics that it may not DESCRIBE; all without an error (KafkaApis). So an empty answer may mean
that nothing is there, or that nothing is shown; what the user may do to the cluster tells which.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cli.collectors.client_properties import ClientProperties

# AclOperation codes of the protocol
_ALTER, _DESCRIBE, _CLUSTER_ACTION = 7, 8, 9


@dataclass(frozen=True)
class Sight:
    """What `user` (as an ACL names it; None: not told by its properties) may do to the cluster; `operations`
    (codes of AclOperation) None where no broker told."""

    user: str | None = None
    operations: frozenset[int] | None = None

    @classmethod
    def of(cls, client: ClientProperties, operations: Collection[int] | None) -> Sight:
        """`operations` are the cluster's authorized operations of a Metadata answer (KIP-430); None from a broker before 2.3."""
        return cls(client.username or client.unsecured_subject, None if operations is None else frozenset(operations))

    @property
    def who(self) -> str:
        return f"User:{self.user}" if self.user else "this user"

    @property
    def lists_all_groups(self) -> bool | None:
        """Whether every group is listed to it; None where that is not known."""
        return self._may(_DESCRIBE)

    @property
    def unrestricted(self) -> bool | None:
        """Whether it is a super user, or nobody is restricted here: what is not shown then is not there."""
        alter, action = self._may(_ALTER), self._may(_CLUSTER_ACTION)
        return None if alter is None else bool(alter and action)

    def _may(self, operation: int) -> bool | None:
        return None if self.operations is None else operation in self.operations

    def needs(self, operation: str, *resources: str) -> str:
        """What is missing and the command that grants it: `operation` as ``DESCRIBE``, `resources` as ``--group 'orders'``."""
        return f"{self.who} needs {operation} – grant: {self.grant(operation, resources)}"

    def grant(self, operation: str, resources: Sequence[str]) -> str:
        """The command for whoever may grant; the address is left to them."""
        spelled = operation.replace("_", " ").title().replace(" ", "")  # DESCRIBE_CONFIGS is DescribeConfigs to the tool
        return f"kafka-acls --bootstrap-server HOST:PORT --add --allow-principal User:{self.user or 'NAME'} --operation {spelled} " + (
            " ".join(resources)
        )
