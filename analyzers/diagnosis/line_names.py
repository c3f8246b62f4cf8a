"""Names that stand in the lines of a finding, beyond its rule's columns: tasks, addresses, files, settings, quotas, pods, positions.

Each pattern is a message of a product that names the thing itself; prose and code name nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analyzers.derived.failures.needed_words import Expressions

_HOST_PORT = r"[\w-]+(?:\.[\w-]+)*:\d{2,5}"
_URI = r"[a-z][a-z0-9+]{1,10}://[^\s'\",;)\]]+"
_SETTING = r"[a-zA-Z][\w-]*(?:\.[\w-]+)+"
_SUBTASK = r"\((?P<subtask>\d+)/(?P<parallelism>\d+)\)"
_MESSAGE = r"^(?=[A-Za-z])(?!(?:TRACE|DEBUG|INFO|WARN|ERROR)\b)|\] - |(?<= )- |\] "
_AMOUNTS = r"[\w./-]+=\w+(?:,[\w./-]+=\w+)*"
_PATTERNS = Expressions(
    # Flink: Task and Execution; ids are often shortened by who pastes them
    rf"(?:{_MESSAGE})(?P<task>\w(?:(?! - )[^\n]){{0,300}}?) {_SUBTASK}(?:#\d+)? \([^()\s]{{3,90}}\) switched from ",
    # Flink's REST, /jobs/ID/exceptions
    rf"\"task(?:Name)?\" ?: ?\"(?P<task>[^\"\n]{{1,300}}?) {_SUBTASK}",
    # Kafka Connect: its REST, asked or answering
    r"/connectors/(?P<connector>[\w.-]+)/(?:status|tasks|restart|resume|pause|config|offsets)\b",
    r"\"name\" ?: ?\"(?P<connector>[^\"\s]{1,200})\" ?, ?\"connector\" ?: ?\{",
    r"\"id\" ?: ?(?P<connector_task>\d+) ?, ?\"state\" ?: ?\"FAILED\"",
    r"\(is FAILED on worker (?P<worker>[\w.-]+:\d+)\)",
    # whom a client calls
    rf"\bhost \[https?://(?P<address>{_HOST_PORT})\]",
    rf"\bfailed to bind to (?P<address>{_HOST_PORT}|\[[0-9a-f:]+\]:\d+)",
    rf"\[thrd:(?:sasl_)?(?:ssl|plaintext)://(?P<address>{_HOST_PORT})/",
    rf"\bconnect E[A-Z]{{4,12}} (?P<address>{_HOST_PORT})",  # Node
    rf"\bdial tcp (?P<address>{_HOST_PORT}): ",  # Go
    rf"\b[Cc]onnection to (?P<address>{_HOST_PORT}) (?:refused|timed out|failed)",
    rf"\bConnect to (?P<address>{_HOST_PORT}) \[",
    # a file that is not there, or cannot be read
    rf"\b(?:FileNotFoundException|NoSuchFileException): (?:File )?'?(?P<path>{_URI}|/[^\s'\":]+)",
    rf"\bError reading (?:delta|snapshot) file (?P<path>{_URI}|/\S+) of ",
    rf"(?:^|[\s:])(?P<path>{_URI}|/[\w./=-]{{3,300}}) (?:does not exist|is not a file|already exists)\b",
    rf"\b[Nn]o such file or directory:? '?(?P<path>{_URI}|/[^\s'\"]+)",
    rf"\bPath does not exist: (?P<path>{_URI}|/\S+)",
    # settings: what the message itself says it stopped at, or lacks
    rf"\(configured via '(?P<setting>{_SETTING})'\)",
    r"\bverify that (?P<setting>ssl\.[\w.]+) is correctly configured",
    rf"\bMissing required configuration \"(?P<setting>{_SETTING})\"",
    rf"\bInvalid value [^\n]{{0,100}}? for configuration (?P<setting>{_SETTING})",
    rf"\bwhich is the value of the (?P<setting>{_SETTING}) configuration",
    rf"\bis bigger than (?P<setting>spark{_SETTING[9:]})",
    rf"\(adjust (?P<setting>{_SETTING}) for ",
    r"\blonger than the configured (?P<setting>max\.poll\.interval\.ms)\b",
    # Kubernetes
    rf"\bexceeded quota: (?P<quota>[\w.-]+), requested: (?P<requested>{_AMOUNTS}), used: {_AMOUNTS}, limited: (?P<limit>{_AMOUNTS})",
    r"\bpods? \\?\"(?P<pod>[a-z0-9][a-z0-9.-]{0,252})\\?\" (?:is forbidden|not found|already exists)",
    r"\b(?:Back-off pulling|Failed to pull|Error pulling|Invalid) image \\?\"(?P<image>[^\"\\\s]+)\\?\"",
    # where a source wants to go on, and what is left
    r"\bexpect(?:ing|ed)(?: to)? process data from version (?P<wanted>\d+)",
    r"\bearliest available version in the\s+\S+\s+directory is\s+(?P<earliest>\d+)",
    r"\b(?:Cannot|Could not) (?:find|load)[^\n]{0,60}? snapshot(?: (?:with )?(?:id|ID))?:? ?(?P<wanted>\d{6,})",
    r"\boffset scn (?P<wanted>\d+)",
    # whose consumer: librdkafka's handle is the client.id and a number; kafka-python and others
    r"\b[A-Z]{4,12}\|(?P<client>[^|#\s]+)#(?:consumer|producer)-\d+\|",
    r"\bfor group '?(?P<group>[\w.-]+)'? (?:failed|due to)",
    r"\b[Gg]roup(?:Id|_id|\.id| id)?[\"']?[:=] ?[\"']?(?P<group>[\w.-]+)",
    r"\bgroup[ :]'(?P<group>[\w.-]+)'",
)  # fmt: skip
_NUMBERS = frozenset({"subtask", "parallelism", "connector_task"})
_TASK = ("task", "subtask", "parallelism")
_NO_NAMES = frozenset({"rdkafka", "null", "None", "nil", "undefined"})
"""What stands where there is no name; librdkafka calls a client without a client.id so."""


def names_in(texts: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """What the lines agree on that name it at all, of what is not `known`."""
    seen: dict[str, list[Any]] = {}
    for text in texts:
        for key, value in _of(text):
            values = seen.setdefault(key, [])
            if value not in values:
                values.append(value)
    found = {key: only for key, values in seen.items() if known.get(key) is None and (only := _one(key, values)) is not None}
    if any(known.get(key) is not None for key in _TASK) or "task" not in found:
        found = {key: value for key, value in found.items() if key not in _TASK}
    if "connector" not in found and known.get("connector") is None:
        found.pop("connector_task", None)
    return found


def _of(text: str) -> Iterable[tuple[str, Any]]:
    for m in _PATTERNS.matches(text):
        for key, value in m.groupdict().items():
            if value is None or value in _NO_NAMES:
                continue
            yield key, int(value) - (key == "subtask") if key in _NUMBERS else value.rstrip(".,;:") if key != "task" else value


def _one(key: str, values: Sequence[Any]) -> Any:
    """The only one; of paths the one below all others."""
    if len(values) == 1:
        return values[0]
    if key == "path":
        longest = max(values, key=len)
        if all(longest.startswith(each) for each in values):
            return longest
    return None
