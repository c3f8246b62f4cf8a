"""A dump of Kubernetes namespaces: which pods, events and logs are of one job.

Read are lists that `kubectl get pods,events,… -o json|yaml` printed, one of all kinds or a file each, and logs beside them: the directory
of `kubectl cluster-info dump --output-directory=DIR` (NAMESPACE/pods.json, NAMESPACE/POD/logs.txt), those of must-gather and of
/var/log/pods, and any other in which the name of its pod stands in the path of a log; what `kubectl cluster-info dump` prints where no
directory is named, all lists and logs in one text; and each of these in an archive. A job is called NAMESPACE/OWNER.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.logs.wrappings.cluster_events import about, is_event, objects_in
from analyzers.readers.opening import TROUBLES, at_most, open_file, parts
from analyzers.readers.slices import Slice
from analyzers.report.durations import counted

_MOST_BYTES = BUDGET.kubernetes_list_bytes
_MOST_LOG_BYTES = BUDGET.kubernetes_log_bytes
_HEAD = 1 << 20
_START = expression(r"^==== START logs for container (?P<container>\S+) of pod (?P<space>[^\s/]+)/(?P<pod>\S+) ====\r?\n", re.MULTILINE)
_STARTS = expression(_START.pattern.encode(), re.MULTILINE)
_EACH = expression(r"(?<=\}\n)\n*(?=\{)|^---[ \t]*$", re.MULTILINE)
"""Between two answers of the API: one of them may have an object in each line, behind a comma."""
_MANIFEST = expression(rb"\s*(?:---\s+)?apiVersion:\s|\s*\{\s*\"(?:apiVersion|kind)\"\s*:")
_PREFIX = expression(rb"^\[pod/(?P<pod>[a-z0-9][\w.-]*)/", re.MULTILINE)
_ENDS = expression(r"[._-]")
_HASH = expression(r"-[bcdf-hj-np-tv-z2456789]{6,10}$")
"""Of a ReplicaSet behind the name of its Deployment. Source: k8s.io/apimachinery/pkg/util/rand."""
_RUN = expression(r"-\d{7,10}$")
"""Of a Job behind the name of its CronJob: minutes, or seconds, since 1970."""
_WORKLOADS = frozenset(
    ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "FlinkDeployment", "SparkApplication", "StrimziPodSet")
)
_OF_ENGINES = frozenset(("FlinkDeployment", "FlinkSessionJob", "SparkApplication", "ScheduledSparkApplication"))
_OF_FLINK = ("jobmanager", "taskmanager")

Object = Mapping[str, Any]
Named = tuple[str, str]
"""Namespace and name."""


@dataclass
class JobOfDump:
    """What of a dump is of one job: the files of its logs, and its own part of each list."""

    logs: list[str] = field(default_factory=list)
    objects: dict[str, list[Object]] = field(default_factory=lambda: defaultdict(list))
    texts: list[LogText] = field(default_factory=list)

    def slices(self, name: str) -> tuple[Slice, ...]:
        """Its part of each list, as a list with an object in each line, and its logs that stand in a text with others."""
        return (
            *(
                Slice(f"{file}!{name}", '{"apiVersion":"v1","kind":"List","items":[\n' + ",\n".join(map(json.dumps, own)) + "\n]}\n")
                for file, own in self.objects.items()
            ),
            *(Slice(each.name, each.text, "log") for each in self.texts),
        )


@dataclass(frozen=True)
class LogText:
    """A log that stands in a text with others, or in an archive; `of`: namespace and pod, where these are stated."""

    name: str
    text: str
    of: Named | None = None


@dataclass
class Dump:
    """Lists by the file that they stand in, the logs beside them, and notes of what cannot be read."""

    lists: dict[str, list[Object]] = field(default_factory=dict)
    logs: list[str] = field(default_factory=list)
    texts: list[LogText] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, other: Dump) -> None:
        """Both are of one cluster."""
        self.lists |= other.lists
        self.logs += other.logs
        self.texts += other.texts
        self.notes += other.notes

    @property
    def spaces(self) -> set[str]:
        """Namespaces whose pods are listed."""
        return {_space(each) for found in self.lists.values() for each in found if each["kind"] == "Pod"}


def read_dump(files: Iterable[str]) -> Dump:
    """What lies in `files`."""
    reading = _Reading()
    for file in files:
        try:
            reading.read(file)
        except TROUBLES as error:
            reading.dump.notes.append(f"{file} cannot be read: {error}")
    return reading.dump


def clusters(dumps: Mapping[str, Dump]) -> dict[str, Dump]:
    """One dump of all, called "", or where several list pods of one namespace, which are then of several clusters, one of each of these."""
    seen: Counter[str] = Counter(space for dump in dumps.values() for space in dump.spaces)
    apart = max(seen.values(), default=0) > 1
    out: dict[str, Dump] = {root: Dump() for root, dump in dumps.items() if dump.spaces} if apart else {"": Dump()}
    for root, dump in dumps.items():
        out[root if root in out else next(iter(out))].add(dump)
    return out


def jobs_of(dump: Dump) -> dict[Named, JobOfDump]:
    """The jobs of a dump by namespace and owner; what is of none is noted."""
    owners = _Owners(each for found in dump.lists.values() for each in found)
    jobs = {(space, name): JobOfDump() for space, names in owners.names.items() for name in names}
    lost: Counter[str] = Counter()
    for file, found in dump.lists.items():
        for each in found:
            whose = owners.of(each)
            for one in whose:
                jobs.setdefault(one, JobOfDump()).objects[file].append(each)
            if not whose and is_event(each):
                lost[about(each)[0] or "nothing"] += 1
    for file in dump.logs if jobs else ():
        owner = owners.of_file(file) or owners.of_prefixes(file)
        jobs.setdefault(owner or ("", NO_JOB), JobOfDump()).logs.append(file)
    for log in dump.texts if jobs else ():
        owner = owners.of_file(log.name.replace("!", "/")) if log.of is None else owners.of_pod(*log.of)
        jobs.setdefault(owner or ("", NO_JOB), JobOfDump()).texts.append(log)
    if lost:
        named = ", ".join(f"{number:,} of {kind}" for kind, number in lost.most_common(5))
        dump.notes.append(f"{counted(sum(lost.values()), 'event')} of no job ({named}) left out")
    return jobs


NO_JOB = "files that name no pod"


class _Reading:
    """Reads files into a dump."""

    def __init__(self) -> None:
        self.dump = Dump()
        self._left = _MOST_LOG_BYTES

    def read(self, file: str) -> None:
        """Adds what `file` holds. Raises one of `TROUBLES`."""
        if not _holds_lists(file):
            self.dump.logs.append(file)
            return
        with open_file(file) as stream:
            for members, text, _ in parts(stream):
                name = "!".join((file, *members))
                head = at_most(text, 4096)
                if _MANIFEST.match(head) or _STARTS.match(head):
                    self._add(name, (head + at_most(text, _MOST_BYTES)).decode("utf-8", "replace").replace("\r\n", "\n"))
                elif head:
                    self._log(name, (head + at_most(text, max(0, self._left))).decode("utf-8", "replace"), None)

    def _add(self, name: str, whole: str) -> None:
        """The lists of a text, and the logs that stand behind them."""
        lists: list[str] = []
        at = 0
        while (start := _START.search(whole, at)) is not None:
            lists.append(whole[at : start.start()])
            end = f"==== END logs for container {start['container']} of pod {start['space']}/{start['pod']} ===="
            at = whole.find(end, start.end())
            if at < 0:
                self.dump.notes.append(f"{name} lacks its end: what stood there is not seen")
                at = len(whole)
            space, pod = start["space"], start["pod"]
            self._log(f"{name}!{space}/{pod}/{start['container']}", whole[start.end() : at], (space, pod))
            at = min(at + len(end), len(whole))
        lists.append(whole[at:])
        rest = "".join(lists).strip()
        if rest.startswith("{") and not rest.endswith("}"):
            self.dump.notes.append(f"{name} lacks its end: what stood there is not seen")
        found = [each for text in _EACH.split("".join(lists)) if text.strip() for each in objects_in(text)]
        self.dump.lists[name] = [each for each in found if each.get("kind") and _map(each.get("metadata"))]

    def _log(self, name: str, text: str, of: Named | None) -> None:
        if not text.strip():
            return
        if self._left < len(text):
            most = f"more than {_MOST_LOG_BYTES >> 20} MB of logs stand in texts with others"
            self.dump.notes.append(f"{name}: {most}; what follows was not read")
        kept = text[: max(0, self._left)]
        self._left -= len(text)
        if kept:
            self.dump.texts.append(LogText(name, kept, of))


def _holds_lists(file: str) -> bool:
    """Whether there are lists of objects in a file, or in an archive, or logs of several pods in one text."""
    with open_file(file) as stream:
        for members, text, _ in parts(stream):
            head = at_most(text, 4096)
            if _MANIFEST.match(head):
                return True
            if _STARTS.match(head) and len({match["pod"] for match in _STARTS.finditer(head + at_most(text, _HEAD))}) > 1:
                return True
            if not members:
                return False
    return False


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


class _Owners:
    """Whose pods, and what else has a name, are."""

    def __init__(self, objects: Iterable[Object]) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)
        self._of: dict[tuple[str, str, str], str] = {}
        self._spaces: dict[str, set[str]] = defaultdict(set)
        self._on: dict[str, set[Named]] = defaultdict(set)
        pods: list[Object] = []
        above: dict[tuple[str, str, str], Named] = {}
        for each in objects:
            if each["kind"] == "Pod":
                pods.append(each)
            elif each["kind"] in _OF_ENGINES:
                name = str(_map(each.get("spec")).get("deploymentName") or each["metadata"].get("name"))
                self._add((_space(each), each["kind"], str(each["metadata"].get("name"))), name)
            elif (controller := _controller(each)) is not None:
                above[_space(each), each["kind"], str(each["metadata"].get("name"))] = controller
        labels = _Labels(pods)
        for pod in pods:
            self._add_pod(pod, labels, above)

    def _add(self, key: tuple[str, str, str], owner: str) -> None:
        self._of[key] = owner
        self.names[key[0]].add(owner)

    def _add_pod(self, pod: Object, labels: _Labels, above: Mapping[tuple[str, str, str], Named]) -> None:
        space, name = _space(pod), str(pod["metadata"].get("name"))
        chain = [("Pod", name)]
        controller = _controller(pod)
        while controller is not None and controller not in chain:
            chain.append(controller)
            controller = above.get((space, *controller))
        kind, top = chain[-1]
        hash_ = str(_map(pod["metadata"].get("labels")).get("pod-template-hash") or "")
        if kind == "ReplicaSet":
            top = top.removesuffix(f"-{hash_}") if hash_ and top.endswith(f"-{hash_}") else _HASH.sub("", top)
        elif kind == "Job":
            top = _RUN.sub("", top)
        owner = labels.owner(pod) or top
        for each in chain:
            self._add((space, *each), owner)
        if node := _map(pod.get("spec")).get("nodeName"):
            self._on[str(node)].add((space, owner))
        self._of.setdefault((space, "", top), owner)  # a Deployment whose ReplicaSet the dump lacks
        self._spaces[name].add(space)

    def of(self, each: Object) -> list[Named]:
        """The job of an object or event; none where it is of none, or a list of what no job is judged by. An event of a node is of all jobs
        that have a pod there."""
        space = _space(each)
        if not is_event(each):
            owner = self._of.get((space, each["kind"], str(each["metadata"].get("name"))))
            return [(space, owner)] if owner is not None and each["kind"] in ("Pod", *_OF_ENGINES) else []
        kind, name = about(each)
        if kind == "Node":
            return sorted(self._on.get(name, ()))
        owner = self._of.get((space, kind, name)) or self._of.get((space, "", name)) or self._begins(space, name)
        if owner is None and kind in _WORKLOADS:
            owner = _HASH.sub("", name) if kind == "ReplicaSet" else name
        return [(space, owner)] if owner else []

    def of_pod(self, space: str, pod: str) -> Named | None:
        """The job of a pod that is named, listed or not."""
        owner = self._of.get((space, "Pod", pod)) or self._begins(space, pod)
        return (space, owner) if owner else None

    def _begins(self, space: str, name: str) -> str | None:
        """The job whose name, or whose workload's, a name begins with: a pod that is gone by now is called like those that are there."""
        for begin in _beginnings(name):
            if begin in self.names[space]:
                return begin
            if (owner := self._of.get((space, "", begin))) is not None:
                return owner
        return None

    def of_file(self, file: str) -> Named | None:
        """The job whose pod, or else whose own name, a path names; the part that is nearest to the file counts."""
        places = [part for part in file.split("/") if part]
        spaces = [part for part in places if part in self.names]
        for part in reversed(places):
            for begin in _beginnings_within(part):
                among = self._spaces.get(begin, set())
                space = next(iter(among)) if len(among) == 1 else next((each for each in reversed(spaces) if each in among), None)
                if space is not None:
                    return space, self._of[space, "Pod", begin]
        for part in reversed(places):
            for space in dict.fromkeys((*reversed(spaces), *(self.names if len(self.names) == 1 else ()))):
                for begin in _beginnings_within(part) if part not in spaces else ():
                    if begin in self.names[space]:
                        return space, begin
        return None

    def of_prefixes(self, file: str) -> Named | None:
        """The one job of all pods that `kubectl logs --prefix` names before the lines of a file."""
        try:
            with open_file(file) as stream:
                pods = {match["pod"].decode() for match in _PREFIX.finditer(at_most(stream, _HEAD))}
        except TROUBLES:
            return None
        jobs = {(space, self._of[space, "Pod", pod]) for pod in pods for space in self._spaces.get(pod, ())}
        return next(iter(jobs)) if len(jobs) == 1 else None


class _Labels:
    """What pods are called by their labels, where these say to which application they belong."""

    def __init__(self, pods: Iterable[Object]) -> None:
        self._parts: dict[Named, set[str]] = defaultdict(set)
        self._runs: dict[Named, set[str]] = defaultdict(set)
        for pod in pods:
            space, labels = _space(pod), _map(pod["metadata"].get("labels"))
            self._parts[space, labels.get("app.kubernetes.io/instance", "")].add(labels.get("app.kubernetes.io/name", ""))
            self._runs[space, labels.get("spark-app-name", "")].add(labels.get("spark-app-selector", ""))

    def owner(self, pod: Object) -> str | None:
        """Source: labels of Spark on Kubernetes and its operator, of Flink's native and standalone deployments, and those that Kubernetes
        recommends."""
        space, labels = _space(pod), _map(pod["metadata"].get("labels"))
        if name := labels.get("sparkoperator.k8s.io/app-name"):
            return str(name)
        if run := labels.get("spark-app-selector"):
            name = labels.get("spark-app-name")
            return str(run if not name else name if len(self._runs[space, name]) == 1 else f"{name} {run}")
        app = labels.get("app")
        if app and labels.get("component") in _OF_FLINK:
            return str(app)
        instance, name = labels.get("app.kubernetes.io/instance"), labels.get("app.kubernetes.io/name")
        if instance:
            return f"{instance}-{name}" if name and name != instance and len(self._parts[space, instance]) > 1 else str(instance)
        found = name or app or labels.get("k8s-app")
        return str(found) if found else None


def _space(each: Object) -> str:
    meta = _map(each.get("metadata"))
    what = _map(each.get("involvedObject") or each.get("regarding"))
    return str(what.get("namespace") or meta.get("namespace") or "default")


def _controller(each: Object) -> Named | None:
    """Kind and name of what made an object."""
    owners = each["metadata"].get("ownerReferences")
    listed = [_map(one) for one in owners] if isinstance(owners, list) else []
    found = next((one for one in listed if one.get("controller")), None)
    return (str(found.get("kind")), str(found.get("name"))) if found else None


def _beginnings(name: str) -> Iterator[str]:
    """A name, and what is left of it where its last words are cut off, the longest first."""
    yield name
    for match in reversed(list(_ENDS.finditer(name))):
        yield name[: match.start()]


def _beginnings_within(part: str) -> Iterator[str]:
    """Those of a part of a path, which may have the namespace before it: ``shop_orders-0_UID``."""
    for begin in (0, *(match.end() for match in re.finditer("_", part))):
        yield from _beginnings(part[begin:])
