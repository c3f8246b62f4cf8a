"""What kubectl answers about a namespace: objects, and logs of the pods that run streaming jobs; with the user's kubectl and rights.

The way of the data: commands (printed, run only where that was asked for) → files in a private directory (`Beside`) → read with the logs.
Only get and logs are ever run. Of objects all is left out that may be a secret and that nothing reads: environments, arguments,
annotations; of settings, what is a secret by its name. Secrets and config maps are not asked for.

Source: kubectl's get, logs and their messages; labels of Flink's native Kubernetes, Spark on Kubernetes and Strimzi.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from analyzers.budget import BUDGET
from analyzers.logs.matching.expressions import expression
from analyzers.report.durations import counted, few
from analyzers.secrets import scrub, scrub_values
from analyzers.states.connectors import kept_settings
from analyzers.tables import SOURCES, Row
from cli.collectors.beside import Beside

KIND = "kubectl"
OBJECTS = (
    "pods", "events", "flinkdeployments.flink.apache.org", "flinksessionjobs.flink.apache.org", "flinkstatesnapshots.flink.apache.org",
    "sparkapplications.sparkoperator.k8s.io", "kafkas.kafka.strimzi.io", "kafkaconnects.kafka.strimzi.io",
    "kafkaconnectors.kafka.strimzi.io",
)  # fmt: skip
_MOST_PODS, _MOST_LIST_BYTES = BUDGET.kubectl_pods, BUDGET.kubectl_list_bytes
_MOST_LOG_LINES, _MOST_LOG_BYTES = BUDGET.kubectl_log_lines, BUDGET.kubectl_log_bytes
_LONGEST_SECONDS = 60.0
"""A command: the answer of a large namespace takes some seconds, a log of `_MOST_LOG_BYTES` over a slow line half a minute."""
_SLOW_IN_A_ROW = 2
"""Commands without an answer, after which the server is left alone."""
_LOOK_SECONDS = 0.05
_PROBLEMS_SHOWN = 6

_STREAMING = expression(
    r"(?i)flink|spark|kafka|connect|beam|debezium|strimzi|zookeeper|jobmanager|taskmanager|ksql|samza|\bstreams?\b|streaming"
)
_BESIDE_THEM = expression(
    r"(?i)^(?:istio-proxy|linkerd-proxy|vault-agent(?:-init)?|filebeat|fluent-?bit|fluentd|otel-.*|jaeger-agent|datadog-agent)$"
)
_WITHOUT_STATE = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Service",
    "ReplicationController",
    "List",
    "PodList",
    "EventList",
)
"""Kinds of which only the items, or the pods that they select, show anything."""
_NEVER = frozenset({"env", "envFrom", "annotations", "managedFields", "args", "arguments", "command", "data", "stringData", "binaryData"})

_UNKNOWN_KIND = re.compile(r"doesn't have a resource type|could not find the requested resource|no matches for kind")
_NO_LOG_BEFORE = re.compile(r"previous terminated container .* not found")
_NOT_BEGUN = re.compile(r"is waiting to start|ContainerCreating|PodInitializing|image can't be pulled")


@dataclass(frozen=True)
class Kubernetes:
    """What to ask: a `namespace` (None: that of the context), all of it or one `target` as KIND/NAME."""

    namespace: str | None = None
    target: str | None = None
    context: str | None = None
    since: str = "6h"
    program: str = "kubectl"

    @property
    def name(self) -> str:
        """What it is called in ``sources``."""
        return " ".join(filter(None, (self.program, self.namespace and f"-n {self.namespace}", self.target)))

    def command(self, *words: str) -> list[str]:
        """kubectl with `words`, in the namespace and context."""
        where = [*(["--context", self.context] if self.context else []), *(["-n", self.namespace] if self.namespace else [])]
        return [self.program, *words, *where, f"--request-timeout={_LONGEST_SECONDS - 10:g}s"]

    def of_log(self, pod: str, container: str, *, previous: bool) -> list[str]:
        """The log of a container, its end where it is long; of one that ended the last lines are those that count."""
        begin = "--previous" if previous else f"--since={self.since}"
        bounds = [f"--tail={_MOST_LOG_LINES}", f"--limit-bytes={_MOST_LOG_BYTES}"]
        return self.command("logs", pod, "-c", container, "--timestamps", begin, *bounds)

    def planned(self) -> list[str]:
        """The commands, as they are typed; POD, CONTAINER and SELECTOR stand for what the first ones answer."""
        lists = (
            [self.command("get", self.target, "-o", "json"), self.command("get", "pods", "-l", "SELECTOR", "-o", "json"),
             self.command("get", "events", "-o", "json")]
            if self.target
            else [self.command("get", kind, "-o", "json") for kind in OBJECTS]
        )  # fmt: skip
        whose = "each of these pods" if self.target else "each pod that runs Flink, Spark, Beam, Kafka or Connect"
        logs = [(False, whose), (True, f"{whose} and has restarted")]
        return [
            *map(shlex.join, lists),
            *(f"{shlex.join(self.of_log('POD', 'CONTAINER', previous=previous))}   # {of}" for previous, of in logs),
        ]


@dataclass
class _Said:
    """What came of a command: a file, or `why` in words."""

    path: Path
    why: str | None = None
    error: str = ""
    slow: bool = False
    cut: bool = False


def ask_kubernetes(of: Kubernetes, found: Beside, progress: Callable[[str], None] = lambda said: None) -> None:
    """Run the commands, one after the other; their answers are files of `found`, and how it went a row of its sources."""
    asking = _Asking(of, found, progress)
    try:
        asking.run()
    except BaseException as stop:
        if isinstance(stop, Exception):
            raise
        progress("stopped before all was asked; what was answered is judged; once more ends at once")
        asking.problems.append("stopped before all was asked")
        found.stop = stop
    found.sources.append(asking.source())


@dataclass
class _Asking:
    of: Kubernetes
    found: Beside
    progress: Callable[[str], None]
    problems: list[str] = field(default_factory=list)
    answers: int = 0
    unanswered: int = 0
    at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    def run(self) -> None:
        self.progress(f"asking {self.of.name}")
        pods = self._of_target() if self.of.target else self._of_namespace()
        if pods and self._goes_on():
            self._logs(pods)

    # objects -------------------------------------------------------------------------------------------------------------------

    def _of_namespace(self) -> list[Mapping[str, Any]]:
        pods: list[Mapping[str, Any]] = []
        for kind in OBJECTS:
            if not self._goes_on():
                break
            listed = self._objects(kind, "get", kind, "-o", "json")
            if kind == "pods" and listed is not None:
                pods = _items(listed)
        chosen = [pod for pod in pods if _runs_streaming(pod)]
        others = [_name(pod) for pod in pods if not _runs_streaming(pod)]
        if others:
            self.progress(f"no logs were asked for of {counted(len(others), 'other pod')}: {few(others)}")
        return chosen

    def _of_target(self) -> list[Mapping[str, Any]]:
        target = self.of.target or ""
        named = self._objects(target, "get", target, "-o", "json")
        if named is None:
            return []
        if str(named.get("kind")) == "Pod":
            pods = [named]
        else:
            selector = selector_of(named)
            if selector is None:
                self.problems.append(f"{target} selects no pods")
                return []
            listed = self._objects("pods", "get", "pods", "-l", selector, "-o", "json")
            pods = [] if listed is None else _items(listed)
            if listed is not None and not pods:
                self.problems.append(f"{target} has no pod now ({selector})")
        if self._goes_on():
            self._objects("events", "get", "events", "-o", "json", only={_name(pod) for pod in pods} | {_name(named)})
        return pods

    def _objects(self, name: str, *words: str, only: set[str] | None = None) -> Mapping[str, Any] | None:
        """The JSON that a command gives, of events those about `only`; what may be a secret is left out before it is written for good."""
        said = self._run(self.of.command(*words), _MOST_LIST_BYTES)
        if said.why is not None:
            if not _UNKNOWN_KIND.search(said.error):
                self.problems.append(said.why)
            return None
        if said.cut:
            said.path.unlink(missing_ok=True)
            self.problems.append(f"{self._shown(words)}: its answer is larger than {_MOST_LIST_BYTES >> 20} MB and was not read")
            return None
        try:
            value: Any = json.loads(said.path.read_bytes())
        except (OSError, ValueError, RecursionError):
            value = None
        finally:
            said.path.unlink(missing_ok=True)
        if not isinstance(value, Mapping):
            self.problems.append(f"{self._shown(words)}: its answer is no JSON of the API")
            self.answers -= 1
            return None
        if only is not None:
            about = [item for item in _items(value) if str(_map(item.get("involvedObject")).get("name")).startswith(tuple(only))]
            value = {**value, "items": about}
        if _items(value) or str(value.get("kind")) not in _WITHOUT_STATE:
            self.found.add(f"{self.of.name} {name}.json", json.dumps(without_secrets(value)).encode())
        return dict(value)

    # logs ----------------------------------------------------------------------------------------------------------------------

    def _logs(self, pods: Sequence[Mapping[str, Any]]) -> None:
        wanted = sorted(pods, key=lambda pod: (-max((again for _, again in _containers(pod)), default=0), _name(pod)))[:_MOST_PODS]
        if len(wanted) < len(pods):
            self.problems.append(f"only the logs of {len(wanted)} of {len(pods)} pods were asked for, those that restarted most first")
        for number, pod in enumerate(wanted, start=1):
            self.progress(f"logs of {number} of {counted(len(wanted), 'pod')}: {_name(pod)}\r")
            for container, restarts in _containers(pod):
                for previous in (True, False) if restarts else (False,):
                    if not self._goes_on():
                        return
                    self._log(_name(pod), container, previous=previous)

    def _log(self, pod: str, container: str, *, previous: bool) -> None:
        said = self._run(self.of.of_log(pod, container, previous=previous), _MOST_LOG_BYTES)
        try:
            if said.why is not None:
                if not (_NO_LOG_BEFORE.search(said.error) or _NOT_BEGUN.search(said.error)):
                    self.problems.append(said.why)
                return
            size = said.path.stat().st_size
            if size >= _MOST_LOG_BYTES or said.cut:
                cut = f"the log of {pod} was cut behind {_MOST_LOG_BYTES >> 20} MB, so that its end is missing"
                self.problems.append(f"{cut}: a shorter --kube-since shows it")
            if size:
                self.found.take(f"{pod}_{container}{'.previous' if previous else ''}.log", said.path)
        finally:
            said.path.unlink(missing_ok=True)

    # commands ------------------------------------------------------------------------------------------------------------------

    def _goes_on(self) -> bool:
        return self.unanswered < _SLOW_IN_A_ROW

    def _run(self, command: Sequence[str], most: int) -> _Said:
        """One command; its answer is a file, so that no answer is too large for this process."""
        out, err = self.found.directory / "answer", self.found.directory / "error"
        said = _Said(out)
        try:
            with out.open("wb") as stdout, err.open("wb") as stderr:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
                try:
                    said.slow, said.cut = _watched(process, out, most)
                finally:
                    if process.poll() is None:
                        process.kill()
                        process.wait()
            said.error = err.read_bytes()[:20_000].decode("utf-8", "replace")
            err.unlink()
        except FileNotFoundError:
            self.unanswered = _SLOW_IN_A_ROW
            said.why = f"there is no {self.of.program} on the PATH: install it, or run this where it is"
            return said
        except OSError as error:
            self.unanswered = _SLOW_IN_A_ROW
            said.why = f"{self.of.program} cannot be run: {error.strerror or error}"
            return said
        shown = self._shown(command[1:])
        if said.slow:
            said.why = f"{shown}: no answer within {_LONGEST_SECONDS:g} s"
        elif process.returncode and not said.cut:
            said.why = f"{shown}: {_in_words(said.error, process.returncode)}"
        self.unanswered = self.unanswered + 1 if said.slow or (_is_away(said.error) and said.why) else 0
        self.answers += said.why is None
        return said

    def _shown(self, words: Sequence[str]) -> str:
        return shlex.join([self.of.program, *words[:2]])

    def source(self) -> Row:
        problems = list(dict.fromkeys(self.problems))
        if not self._goes_on() and self.answers:
            problems.append("the rest was not asked for")
        more = [f"and {len(problems) - _PROBLEMS_SHOWN} more"] if len(problems) > _PROBLEMS_SHOWN else []
        state = "ok" if not problems else "partial" if self.answers else "failed"
        why = "; ".join([*problems[:_PROBLEMS_SHOWN], *more]) or None
        return SOURCES.row({"scope": "", "as_of": self.at, "name": self.of.name, "kind": KIND, "state": state, "why": why})


def _watched(process: subprocess.Popen[bytes], out: Path, most: int) -> tuple[bool, bool]:
    """Waits for the end; whether it took too long, and whether it wrote too much."""
    until = time.monotonic() + _LONGEST_SECONDS
    while True:
        try:
            process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            if time.monotonic() > until:
                return True, False
            if out.stat().st_size > most:
                return False, True
        else:
            return False, out.stat().st_size > most


_AWAY = re.compile(r"Unable to connect to the server|connection to the server .* was refused|i/o timeout|TLS handshake timeout")


def _is_away(error: str) -> bool:
    """Whether the server was not reached at all: it will not be for the next command either."""
    return _AWAY.search(error) is not None


def _in_words(error: str, code: int) -> str:
    """The line of kubectl's error that says why, without its own prefix and without secrets."""
    lines = [line.strip() for line in error.splitlines() if line.strip() and not re.match(r"[EIW]\d{4} ", line)]
    if not lines:
        return f"it ended with exit code {code} and said nothing"
    line = next((line for line in lines if line.startswith(("Error", "error", "Unable"))), lines[-1])
    said = re.sub(r"^(?:Error from server )?\((Forbidden|NotFound|BadRequest|Unauthorized)\): |^[Ee]rror: ", "", line)
    return scrub(said[:300])


# objects ------------------------------------------------------------------------------------------------------------------------


def without_secrets(value: Any) -> Any:
    """An object of the API without what may be a secret and nothing reads."""
    if isinstance(value, Mapping):
        kept = {key: each for key, each in value.items() if key not in _NEVER}
        if value.get("kind") == "KafkaConnector" and isinstance(spec := value.get("spec"), Mapping):
            kept["spec"] = {**spec, "config": kept_settings(_map(spec.get("config")))}
        return scrub_values({key: without_secrets(each) for key, each in kept.items()})
    return [without_secrets(each) for each in value] if isinstance(value, list) else value


def selector_of(value: Mapping[str, Any]) -> str | None:
    """The labels of an object's pods, as kubectl's ``-l`` takes them; None where it has none.

    A Deployment of Flink's native Kubernetes is the JobManager only: its TaskManagers have the same ``app``.
    """
    kind, name, spec = str(value.get("kind")), _name(value), _map(value.get("spec"))
    known = {
        "FlinkDeployment": f"app={name}",
        "SparkApplication": f"sparkoperator.k8s.io/app-name={name}",
        "KafkaConnect": f"strimzi.io/cluster={name},strimzi.io/kind=KafkaConnect",
        "KafkaMirrorMaker2": f"strimzi.io/cluster={name},strimzi.io/kind=KafkaMirrorMaker2",
        "Kafka": f"strimzi.io/cluster={name},strimzi.io/kind=Kafka",
    }
    if kind in known:
        return known[kind]
    selector = _map(spec.get("selector"))
    labels = selector if kind in ("Service", "ReplicationController") else _map(selector.get("matchLabels"))
    if labels.get("type") == "flink-native-kubernetes" and "app" in labels:
        return f"app={labels['app']},type=flink-native-kubernetes"
    parts = [f"{key}={label}" for key, label in sorted(labels.items()) if isinstance(label, str)]
    each = selector.get("matchExpressions")
    parts += filter(None, map(_expressed, each if isinstance(each, list) else []))
    return ",".join(parts) or None


def _expressed(part: Any) -> str | None:
    operator, key = _map(part).get("operator"), _map(part).get("key")
    values = ",".join(map(str, _map(part).get("values") or []))
    said = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": f"{key}", "DoesNotExist": f"!{key}"}
    return said.get(str(operator))


def _runs_streaming(pod: Mapping[str, Any]) -> bool:
    """By its labels, its name, and the images and commands of its containers."""
    labels = _map(_map(pod.get("metadata")).get("labels"))
    told = [_name(pod), *(f"{key} {value}" for key, value in labels.items())]
    for container in _listed(_map(pod.get("spec")).get("containers")):
        told += [str(container.get("image")), *map(str, container.get("command") or []), *map(str, container.get("args") or [])]
    return any(_STREAMING.search(text) for text in told)


def _containers(pod: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Names of the containers that do its work, and how often each was started again."""
    status = _map(pod.get("status"))
    restarts = {each.get("name"): each.get("restartCount") for each in _listed(status.get("containerStatuses"))}
    names = [str(each["name"]) for each in _listed(_map(pod.get("spec")).get("containers")) if isinstance(each.get("name"), str)]
    for name in [name for name in names if not _BESIDE_THEM.match(name)] or names:
        again = restarts.get(name)
        yield name, again if isinstance(again, int) else 0


def _name(value: Mapping[str, Any]) -> str:
    return str(_map(value.get("metadata")).get("name"))


def _items(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return _listed(value.get("items"))


def _listed(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
