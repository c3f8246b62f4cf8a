"""Where texts state the names of a user's systems: hosts, topics, groups, clients, people, object stores, accounts.

Each form is (kind, a word that its text has, expression whose groups are names or lists of names). A name that one text states is
replaced in every other one, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = r"[A-Za-z0-9][\w.-]*"
_PORT = r":\d{2,5}(?!\w)"
_PACKAGE = "(?:com|org|net|io|java|javax|jdk|jakarta|sun|scala|akka|edu|gov)"
_RESOURCE = "(?:configmaps?|deployments?|endpoints|flink[a-z]+|jobs|leases?|nodes?|pods?|secrets?|services?|spark[a-z]+|statefulsets?)"
_TOP = "(?:com|net|internal|local|lan|corp|example|cloud|intra)"

_FORMS = tuple((kind, word, re.compile(expression)) for kind, word, expression in (
    ("client", "clientId=", r"\bclientId=([^,\]\s]+)"),
    ("client", "client.id", r"\bclient\.id ?[=:] ?(\S+)"),
    ("client", "ransactional", r"\btransactional(?:Id|\.id) ?[=:] ?([^,\]\s]+)"),
    ("client", "TransactionalId", rf"\bTransactionalId ({_NAME}):"),
    ("client", "Transactional Id", r"Transactional Id authorization failed for (\S+)"),
    ("group", "groupId=", r"\bgroupId=([^,\]\s]+)"),
    ("group", "group.id", r"\bgroup\.id ?[=:] ?(\S+)"),
    ("group", "access group", rf"access group: ({_NAME})"),
    ("group", "group", rf"\"(?:group|groupId|group\.id|group_id|consumerGroup|consumer_group)\" ?: ?\"({_NAME})\""),
    ("group", "--group", rf"--group[ =][\"']?({_NAME})"),
    ("group", "[Group ", rf"\[Group ({_NAME})\]"),
    ("group", "for group", rf"\bfor group ({_NAME})"),
    ("group", "roup", rf"(?<![Aa][Pp][Ii] )\b[Gg]roup [\"']({_NAME})[\"']"),
    ("group", "oordinator for", rf"\b[Cc]oordinator for (?:group )?[\"']?({_NAME})[\"']? (?:is|was|has)\b"),
    ("group", "Group:", rf"\bGroup:(?:LITERAL|PREFIXED):({_NAME})"),
    ("client", "TransactionalId:", rf"\bTransactionalId:(?:LITERAL|PREFIXED):({_NAME})"),
    ("topic", "Topic:", rf"\bTopic:(?:LITERAL|PREFIXED):({_NAME})"),
    ("topic", "topics", r"\btopics ?[=:] ?\[?([\w.,\- ]+)\]"),
    ("topic", "topic(s)", r"\bSubscribed to topic\(s\): ([\w.,\- ]+)"),
    ("topic", "access topics", r"access topics: \[([\w.,\- ]+)\]"),
    ("topic", "topic", rf"\btopic ?= ?'?({_NAME})"),
    ("topic", "opic", rf"\b[Tt]opic [\"']({_NAME})[\"']"),
    ("topic", "topic", rf"\"topic\" ?: ?\"({_NAME})\""),
    ("topic", "--topic", rf"--topic[ =][\"']?({_NAME})"),
    ("topic", "host topic", rf"does not host topic ({_NAME})"),
    ("topic", "not present", rf"\bTopic ({_NAME}) not present"),
    ("topic", "partition(s)", rf"\bpartition\(s\)?: ({_NAME}-\d+(?:, {_NAME}-\d+)*)"),
    ("topic", "artition", rf"\b(?:[Pp]artition|topic-partition) ({_NAME}-\d+)(?!\w)"),
    ("topic", "correlation id", r"correlation id \d+ : \{([\w.=, -]+)\}"),
    ("host", "UnknownHostException", rf"UnknownHostException: (?:\[?)({_NAME})"),
    ("host", "esol", rf"\bresolv\w* (?:server |host(?:name)? |address )?'?({_NAME}){_PORT}"),
    ("host", "resolution", rf"resolution failed for ({_NAME})"),
    ("host", "Call From", rf"Call From ({_NAME})/\S+ to ({_NAME}):\d"),
    ("host", "onnect", rf"\b[Cc]onnect(?:ion|ing|ed)? to ({_NAME})(?:{_PORT}| port \d)"),
    ("host", "zookeeper", r"\bzookeeper\.connect ?[=:] ?([^\s/]+)"),
    ("host", "bootstrap", r"\bbootstrap[._]servers?[\"']? ?(?:[=:]|->) ?[\"']?\[?([^\]\s\"'})]+)"),
    ("host", "bootstrap", r"\bbootstrap\.servers = \[([^\]]*)\]"),
    ("host", "--bootstrap-server", r"--bootstrap-servers?[ =][\"']?([^\s\"']+)"),
    ("host", "host", rf"\"(?:host|hostname|hostName|host_name|host\.name)\" ?: ?\"({_NAME})\""),
    ("host", "(TID ", rf"\(TID \d+\) \(({_NAME}) executor"),
    ("host", "Lost executor", rf"Lost executor \S+ on ({_NAME}):"),
    ("host", "ost name", rf"\b[Hh]ost ?name '({_NAME})'"),
    ("host", "DNS name", rf"DNS name matching ({_NAME})"),
    ("host", "/", r"\b([A-Za-z0-9][\w.-]*)/(?:\d{1,3}\.){3}\d{1,3}:\d+"),
    ("host", " (id: ", rf"(?<![\w.-])({_NAME}:\d{{2,5}}) \(id: "),
    ("host", "://", rf"\b[A-Za-z][\w+.-]*://(?:[^\s/@]*@)?({_NAME})"),
    ("host", ":", r"(?<![\w.$/-])([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,}):\d{2,5}(?!\w)"),
    ("host", ".", rf"(?<![\w.@/$-])(?!{_PACKAGE}\.)([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+){{0,8}}\.{_TOP})(?![\w.(-])"),
    ("host", "CN=", r"\bCN=([\w.*-]+)"),
    ("account", "O", r"\b(?:OU|O)=([\w][\w .&-]*?)(?=[,/\"\])]|$)"),
    ("host", "@", r"\b[a-z]\w+/([a-z0-9][\w.-]*)@[A-Z][A-Z0-9.-]+"),
    ("account", "@", r"@([A-Z][A-Z0-9-]*(?:\.[A-Z0-9-]+)+)(?!\w)"),
    ("user", "user", rf"\b(?:user|userName|username)[\"']? ?[=:] ?[\"']?({_NAME})"),
    ("user", "user", rf"\bas user [\"']({_NAME})"),
    ("user", "for user", rf"\bfor user [\"']({_NAME})"),
    ("user", "failure for", rf"\b[Ll]ogin failure for ({_NAME})[/@]"),
    ("user", "role", rf"\brole \"({_NAME})\""),
    ("user", "ugi=", rf"\bugi=({_NAME})"),
    ("user", "roxy user", rf"\b[Pp]roxy user ({_NAME})"),
    ("user", "://", rf"://({_NAME})(?::[^\s/@]*)?@"),
    ("user", "serviceaccount", rf"\bserviceaccount:{_NAME}:({_NAME})"),
    ("account", "serviceaccount", rf"\bserviceaccount:({_NAME}):"),
    ("account", "namespace", rf"\bnamespace [\"']({_NAME})[\"']|\bin namespace ({_NAME})"),
    ("account", "kubectl", rf"\bkubectl\b[^\n|;]*? (?:-n|--namespace)[ =]?({_NAME})"),
    ("host", "\" ", rf"\b{_RESOURCE}(?:\.[a-z0-9.-]+)? \"([a-z0-9][a-z0-9.-]*)\" (?:not found|already exists|is forbidden|is invalid)"),
    ("store", "jdbc:", rf"\bjdbc:\w+://[^\s/;?]+/({_NAME})"),
    ("host", "pod", rf"\bpods? \"({_NAME})\""),
    ("host", "(dataPort=", rf"\bon ({_NAME}) @ ({_NAME}) \(dataPort="),
    ("account", "exceeded quota", rf"\bexceeded quota: ({_NAME})"),
    ("account", "/namespaces/", rf"/api/v1/namespaces/({_NAME})"),
    ("host", "image", rf"\b[Ii]mage \\?\"({_NAME}(?:\.{_NAME}|:\d+))/"),
    ("host", " on worker ", rf"\b(?:is|state) [A-Z]+ on worker ({_NAME}):\d"),
    ("client", "#", rf"\|({_NAME})#(?:consumer|producer)-\d+\|"),
    ("account", "projects/", rf"\bprojects/({_NAME})"),
    ("topic", "projects/", rf"\bprojects/{_NAME}/(?:subscriptions|topics|secrets|datasets|instances)/({_NAME})"),
    ("store", "bucket", r"\bbucket[:=]? ?[\"']?((?=[a-z.-]*[.\d-])[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])"),
    ("store", "bucket does not exist", rf"bucket does not exist:? ({_NAME})"),
    ("store", ".amazonaws.com", r"://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\.s3[.\w-]*\.amazonaws\.com"),
    ("store", "amazonaws.com/", r"(?<![\w-])s3[.\w-]*\.amazonaws\.com/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])"),
    ("store", "core.windows.net/", r"\.(?:blob|dfs)\.core\.windows\.net/([a-z0-9$][a-z0-9-]+)"),
))  # fmt: skip
_PARTITION = re.compile(r"-\d+\Z")
_ERROR = re.compile(r"=[A-Z_]{4,}\Z")
_ASKED = re.compile(r"([^\s,:/()\[\]]+:\d{1,5})(?!\w)")
"""``kafka-1:9092`` in the name of what was asked: there every such pair is an address, in a line of a log it may be a file and its line."""
_NO_HOST = re.compile(r".*\.(?:java|scala|kt|py|clj|groovy|cpp|go|rs|log|out|xml|json|jar|conf|properties|ya?ml|txt|sh)", re.I)
_PUBLIC = re.compile(r"(?:^|\.)(?:(?:apache|slf4j|w3|xml)\.org|(?:github|google|oracle|amazonaws|googleapis)\.com|confluent\.io)$")

EMAIL = re.compile(r"(?<![\w.+/=:-])[\w.+-]{1,64}@[A-Za-z0-9][\w-]*(?:\.[\w-]+)*\.[A-Za-z]{2,}(?![\w-])")
ARN = re.compile(r"\barn:(aws[\w-]*):([\w-]*):([\w-]*):(\d*):([^\s\"'<>,;)\]]+)")
PRINCIPAL = re.compile(r"\b(User:)(?!arn:|CN=)([\w.@-]+)")
OF_ARNS = frozenset({
    "role", "user", "assumed-role", "group", "policy", "key", "alias", "secret", "function", "stream", "cluster", "topic", "table",
    "instance", "*", "root", "log-group", "service-role", "aws-service-role",
})  # fmt: skip


def stated(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of what `text` states by its form."""
    for kind, word, expression in _FORMS:
        if word not in text:
            continue
        for match in expression.finditer(text):
            for name in re.split(r",\s*", ",".join(filter(None, match.groups())).strip()):
                if kind == "topic":
                    name = _PARTITION.sub("", _ERROR.sub("", name)) if "artition" in word or "correlation" in word else name
                if name and not (kind == "host" and (_NO_HOST.fullmatch(name.partition(":")[0]) or _PUBLIC.search(name))):
                    yield kind, name.rstrip(".")


def asked(text: str) -> list[str]:
    """The addresses in the name of what was asked."""
    return _ASKED.findall(text)
