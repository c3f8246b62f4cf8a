# ruff: noqa: E501 -- an expression is easier to read on one line
"""Layouts of log lines as data: what a header looks like, and where its level, logger, thread and message stand.

A header's time shape decides that a line *is* a header (`lines.py`); these expressions, tried in order, say what it holds.
Order matters only between shapes that could both fit; it never depends on earlier lines, so a split sees what the whole file sees.
Sources: conf/ of Flink 1.9-2.3, Kafka `config/log4j*.properties`, Spark `log4j2-defaults.properties`, JEP 158, glog, librdkafka.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from unicodedata import normalize

from analyzers.logs.layouts.timestamps import ISO, LEADING_STAMP, SHORT
from analyzers.logs.matching.expressions import expression

LEVELS = {
    "TRACE": "TRACE", "FINEST": "TRACE", "FINER": "TRACE", "DEBUG": "DEBUG", "FINE": "DEBUG", "CONFIG": "DEBUG",
    "INFO": "INFO", "NOTICE": "INFO", "INFORMATIONAL": "INFO", "WARN": "WARN", "WARNING": "WARN",
    "ERROR": "ERROR", "ERR": "ERROR", "SEVERE": "ERROR", "FATAL": "FATAL", "CRITICAL": "FATAL", "CRIT": "FATAL",
    "ALERT": "FATAL", "EMERGENCY": "FATAL", "EMERG": "FATAL", "PANIC": "FATAL",
    # Serilog and zerolog, log15, the console of .NET
    "VRB": "TRACE", "TRC": "TRACE", "DBG": "DEBUG", "INF": "INFO", "WRN": "WARN", "FTL": "FATAL", "DBUG": "DEBUG", "EROR": "ERROR",
    "TRCE": "TRACE", "FAIL": "ERROR",
    "I": "INFO", "W": "WARN", "E": "ERROR", "F": "FATAL", "D": "DEBUG", "V": "DEBUG", "T": "TRACE", "DFLT": "INFO", "DEFAULT": "INFO",
}  # fmt: skip

_LEVEL = (
    r"(?P<level>TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE|trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)"
)
_BIG = r"(?P<level>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)"
_SHORT = r"(?P<level>VRB|TRC|DBG|INF|WRN|ERR|FTL)"
_SMALL = r"(?P<level>trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)"
_LOGGER = r"(?P<logger>[\w.$/@-]+(?::\d+)?)"
_DOTTED = r"(?P<logger>[\w$-]+(?:\.[\w$-]+)+(?::\d+)?)"
_THREAD = r"\[(?P<thread>.*?)\]"
_T = rf"(?P<time>{ISO})"


TIME_ONLY = "time-only-message"
"""Lines that begin with a time and have no level: those of a program that prints, or rows of a table."""
_GROUPS = ("time", "level", "logger", "thread", "message")


@dataclass(frozen=True)
class Layout:
    """One layout: a name for `log_files.layout` and an expression with the groups time, level, logger, thread, message."""

    name: str
    expression: re.Pattern[str]
    timed: bool = True

    @cached_property
    def simple(self) -> bool:
        """Whether it has no groups but those of `places`."""
        return set(self.expression.groupindex) <= set(_GROUPS)

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Numbers of the groups time, level, logger, thread, message; 0 = has none."""
        return tuple(self.expression.groupindex.get(group, 0) for group in _GROUPS)


def _layout(name: str, pattern: str, *, timed: bool = True) -> Layout:
    return Layout(name, expression(pattern, re.DOTALL), timed)


# Headers that begin with a full date and time.
DATED = (
    _layout("flink-log4j", rf"{_T} +\[?{_BIG}\]? +{_LOGGER} +(?:{_THREAD} +)?-(?!-) ?(?P<message>.*)"),  # P1 P2 P4, and the canonical header
    _layout("logback", rf"\[?{_T}\]? +(?:\d+ +)?{_THREAD} +{_BIG} +{_LOGGER}(?: +\[[^\]]*\])?(?: +\S+)? +-+ (?P<message>.*)"),  # P3 P5
    _layout("kafka", rf"\[{_T}\] +{_BIG} +(?P<message>.*?)(?: \((?P<logger>[\w.$]+(?::\d+)?)\))?"),
    _layout("spark", rf"(?P<time>{SHORT}) (?:(?P<thread>.+?) )??{_BIG} +{_LOGGER}: (?P<message>.*)"),  # P7 P8
    _layout("log4j-operator", rf"{_T} +{_LOGGER} +\[{_BIG} *\] ?(?:\[[^\]]*\])? ?(?P<message>.*)"),  # P9, colours stripped
    _layout("jvm-unified", rf"\[{_T}\](?:\[[\d.,]+m?s\])?(?:\[\d+\])*\[(?P<level>[a-z]+) *\]\[(?P<logger>[\w,+]+) *\] ?(?P<message>.*)"),
    _layout("jdk8-gc", rf"{_T}: (?P<message>(?:\d+[.,]\d+: )?(?:\[|Total time|Application time).*)"),
    _layout("elasticsearch", rf"\[{_T}\]\[{_BIG} *\]\[(?P<logger>[^\]]*?) *\] ?(?P<message>.*)"),
    _layout("hadoop", rf"{_T} +{_BIG} +(?:{_THREAD} +)?{_LOGGER}(?: \([^)]*\))?: ?(?P<message>.*)"),
    _layout("zookeeper", rf"{_T}(?: \[myid:[^\]]*\])? +- +{_BIG} +\[(?P<thread>.*?)(?::(?P<logger>[\w.$]+)@\d+)?\] - (?P<message>.*)"),
    _layout("spring-boot", rf"{_T} +{_BIG} +(?:\[[^\]]*\] +)?\d+ --- (?:\[[^\]]*\] )?{_THREAD} +{_LOGGER} +: ?(?P<message>.*)"),
    _layout("python", rf"{_T} +- +(?P<logger>[\w.$-]+) +- +{_BIG} +- ?(?P<message>.*)"),
    _layout("pipes", rf"{_T} +\| +{_BIG} +\| +(?P<logger>[\w.$:<>-]+) +(?:-|\|) (?P<message>.*)"),
    # Quarkus and WildFly, and patterns with everything in brackets
    _layout("bracket-logger", rf"\[?{_T}\]?[ :-]+(?:{_THREAD} +)?\[?{_BIG} *\]? +\[(?P<logger>(?:[\w$-]+\.)+[A-Z][\w$]*|[A-Z][\w$]+(?=\] +\())\](?: +\((?P<thread2>[^)\n]*)\))?(?: +-+|:)? "
            r"(?P<message>.*)"),
    _layout("bracket-level", rf"\[?{_T}\]?[ -]+(?:{_THREAD} +)?\[ ?{_LEVEL} *\][ :]*(?:\[(?P<thread2>[^\]]*)\] *)?"
            rf"(?:{_DOTTED}(?: +-+|:) )?(?P<message>.*)"),
    _layout("thread-level", rf"\[?{_T}\]?[ :-]+{_THREAD} +{_BIG} +{_LOGGER}: (?P<message>.*)"),
    _layout("level-thread", rf"\[?{_T}\]?[ :-]+\[?{_BIG}\]? +{_THREAD} +{_LOGGER} +(?:-+|:) ?(?P<message>.*)"),
    # a thread that is named after its task, whatever the length of that
    _layout("task-thread", rf"\[?{_T}\]?[ :-]+(?:\[[^\]\n]{{0,80}}\] +)?\[?(?P<thread>[^\n]{{1,400}}? \(\d+/\d+\)(?:#\d+)?)\]? +{_BIG} +(?:\w+ +)?{_DOTTED}(?: +\d+)?"
            r"(?: +\[[^\]\n]*\])?(?: +-+|:)? (?P<message>.*)"),
    _layout("short-level", rf"\[?{_T}\]?[ |:,-]*\[?{_SHORT}[\]:|]* +(?P<message>.*)"),
    _layout("letter-level", rf"{_T} (?P<level>[DIWEF])! (?:\[(?P<logger>[\w.:-]+)\] )?(?P<message>.*)"),  # Telegraf
    _layout("small-level", rf"\[?{_T}\]?[ |\t]+{_SMALL}(?:[:|]+ *|\t)(?P<message>.*)"),
    _layout("level-later", rf"\[?{_T}\]?(?P<before>[^\n]{{0,80}}?)(?<![\w.$]){_BIG}(?![\w$])[\]:]?(?: +{_DOTTED} *(?:\[[^\]]*\] *)?(?:-+|:)| +\[[^\]\n]{{0,80}}\] +-+)? ?(?P<message>.*)"),
    _layout("spark", rf"(?P<time>{SHORT})[ :,]*(?P<message>.*)"),
    _layout(TIME_ONLY, rf"\[?{_T}[\]|,:;-]* ?(?P<message>.*)"),
)  # fmt: skip

# Headers with a full date in a rarer form, or an epoch, or a date without a year.
RARE = (
    _layout("klog", r"(?P<level>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d{3,9}) +(?P<thread>\d+) (?P<logger>[\w./-]+:\d+)\] ?(?P<message>.*)"),
    _layout("librdkafka", r"(?:%(?P<severity>\d)\|)?(?P<time>\d{10}\.\d{3})\|(?P<logger>\w+)\|(?P<thread>[^|]*)\| ?(?P<message>.*)"),
    _layout("librdkafka-c", r"(?P<time>\d{10}\.\d{3}) RDKAFKA-(?P<severity>\d)-(?P<logger>\w+): (?P<message>.*)"),
    _layout("go-log", r"\[?(?P<logger>[A-Za-z][\w.-]{1,30})[\]:|]? +(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?):? +(?P<message>.*)"),
    _layout("tomcat", rf"(?P<time>\d{{1,2}}[- ][A-Z][a-z]{{2}}[- ]\d{{4}} \d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?) +(?:{_BIG} +)?(?:{_THREAD} +)?(?:{_DOTTED} +(?:- )?)?(?P<message>.*)"),
    _layout("java-util-logging", r"(?P<time>[A-Z][a-z]{2}[a-z]* \d{1,2}, \d{4},? \d{1,2}:\d\d:\d\d(?: [AP]M)) (?P<logger>[\w.$]+)(?: (?P<thread>\S+))?(?P<message>(?:\n.*)?)"),
    _layout("ruby", rf"[DIWEFA], \[{_T} #\d+\] +(?:(?P<level>DEBUG|INFO|WARN|ERROR|FATAL)|ANY) -- (?P<logger>[\w.:-]*?): ?(?P<message>.*)"),
    _layout("php", r"\[(?P<time>\d{1,2}-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d)(?: [A-Z]\w*(?:/\w+)*)?\] +(?:PHP +(?P<level>Warning|Notice|Error): +)?(?P<message>.*)"),
    _layout("kibana", r"(?P<time>[A-Z][a-z]{2} \d{1,2}, \d{4} @ \d\d:\d\d:\d\d(?:\.\d{1,9})?)[\t ,|]+(?P<message>.*)"),
    _layout("ctime", r"\[?(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:[A-Z]{3,4} )?\d{4})\]?:? ?"
            r"(?:\[(?:\w+:)?(?P<level>error|warn|notice|info|debug|crit|alert|emerg)\] ?)?(?P<message>.*)"),
    _layout("access-log", r"\[(?P<time>\d{1,2}/[A-Z][a-z]{2}/\d{4}[: ]\d\d:\d\d:\d\d(?: [+-]\d{4})?)\] ?(?P<message>.*)"),
    _layout("level-date", rf"\[? ?{_BIG} *\]?[ |:,-]+\[?{_T}\]?[ |:,-]*(?:\[(?P<logger>[\w$-]+(?:\.[\w$-]+)+)\] *(?:-+ )?|(?:{_THREAD} +)?"
            r"(?:(?P<logger2>[\w$-]+(?:\.[\w$-]+)+)(?: *\[[^\]]*\])?(?: *-+|:) ?|(?P<logger3>[\w$]+(?:\.[\w$]+)*\.[A-Z][\w$]*) )?)(?P<message>.*)"),
    _layout("epoch", rf"(?P<time>1\d{{12}}|1\d{{9}}\.\d{{3,9}})[ |:,]+(?:{_THREAD} +)?\[?{_LEVEL}\]?[ |:]+(?:{_DOTTED} *(?:\[[^\]]*\] *)?(?:-+|:) )?(?P<message>.*)"),
)  # fmt: skip

# Headers without a date.
DATELESS = (
    _layout("time-only", rf"(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?) +{_BIG} +\[(?P<logger>[\w.$-]+)\] +\((?P<thread2>[^)\n]*)\) (?P<message>.*)"),
    _layout("time-only", rf"\[?(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?)\]? +(?:{_THREAD} +)?\[?{_BIG} *\]? +(?:\[(?P<thread2>[^\]]*)\] +)?"
            rf"(?:{_LOGGER}(?: +\[[^\]]*\])?(?: +-+|:) ?|-+ +)?(?P<message>.*)"),
    _layout("time-only", rf"\[(?P<time>\d\d:\d\d:\d\d(?:[.,]\d{{1,9}})?) {_SHORT}\] ?(?P<message>.*)"),
    _layout("time-only", rf"(?P<time>\d\d:\d\d:\d\d[.,]\d{{3,9}}) +\[{_SMALL}\] +(?P<message>.*)"),
    _layout("relative-ms", rf"(?P<elapsed>\d+) +{_THREAD} +{_BIG} +{_LOGGER}(?: +\[[^\]]*\])?(?: +\S+)?? +-+ (?P<message>.*)", timed=False),  # P6
    _layout("jvm-unified-uptime", r"\[(?P<elapsed>\d+[.,]\d+)s\](?:\[\d+\])*\[(?P<level>[a-z]+) *\]\[(?P<logger>[\w,+]+) *\] ?(?P<message>.*)", timed=False),
    _layout("jdk8-gc-uptime", r"(?P<elapsed>\d+[.,]\d{3}): (?P<message>(?:\[(?:Full )?GC|\[CMS|Total time|Application time).*)", timed=False),
)  # fmt: skip

# Lines that begin an event of their own even below a header with a time: another writer on the same stream.
STARTER = expression(
    r"(?:(?P<level2>fail|crit|warn|info|dbug|trce): (?P<logger2>[A-Z][\w.`+]*)\[\d+\](?P<message2>.*))|"  # .NET: the message stands below
    rf"(?:{_BIG} +(?:{_THREAD} +)?{_DOTTED}(?: *\[[^\]]*\])?(?: +-+|:) (?P<message>.*)"
    r"|(?P<crash>Exception in thread \".*|Terminating due to java\.lang\..*|Aborting due to java\.lang\..*))",
    re.DOTALL,
)
# The same without any time, logger optional: pasted fragments, `%p %c: %m` consoles, `LEVEL:logger:message` of Python.
_BARE = expression(
    rf"\[ ?{_BIG} *\][ :-]*(?:{_DOTTED}(?: +-+|:) )?(?P<message>.*)"
    r"|(?P<level2>TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|SEVERE)(?: *: *| +- +| +)(?:\[(?P<thread>.*?)\] +)?"
    r"(?:(?P<logger2>[\w$-]+(?:\.[\w$-]+)+(?::\d+)?)(?: *\[[^\]]*\])?(?: *-+ |: ?)|(?P<logger3>[A-Z]\w+(?::\d+)?)(?: +-+|:) )?(?P<message2>.*)",
    re.DOTALL,
)
_LEVEL_FIRST = Layout("level-first", _BARE, timed=False)
_SYSLOG_SEVERITY = ("FATAL", "FATAL", "FATAL", "ERROR", "WARN", "INFO", "INFO", "DEBUG")
_CLASS = expression(r"(?:[a-z][\w$]*\.){2,}[A-Z][\w$.]*")
_JOB = expression(r"(?:^|\|job:)([0-9a-f]{32})$|\|job:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")


class Header(NamedTuple):
    """What the first line of an event says; `time` is the text of its time stamp."""

    layout: str
    time: str | None
    level: str | None
    logger: str | None
    thread: str | None
    message: str
    job: str | None = None
    timed: bool = True


def level_of(text: str | None) -> str | None:
    """The canonical level (TRACE DEBUG INFO WARN ERROR FATAL) of a level as printed; None if it is none."""
    return LEVELS.get(text.strip().upper()) if text else None


def severity_level(number: int) -> str | None:
    """The level of a syslog severity (0 to 7), RFC 5424; librdkafka, GELF and journald count alike."""
    return _SYSLOG_SEVERITY[number] if 0 <= number <= 7 else None


def _header(layout: Layout, m: re.Match[str]) -> Header:
    if layout.simple:
        time, printed, logger, thread, message = [m[group] if group else None for group in layout.places]
        level = LEVELS.get(printed) or level_of(printed) if printed else None
        thread = thread.strip() if thread else None
    else:
        groups = m.groupdict()
        time, message = groups.get("time"), groups.get("message")
        level = level_of(groups.get("level") or groups.get("level2"))
        if groups.get("severity"):
            level = severity_level(int(groups["severity"]))
        logger = groups.get("logger") or groups.get("logger2") or groups.get("logger3")
        thread = (groups.get("thread") or groups.get("thread2") or "").strip()
        message = groups.get("message2") if message is None else message
    if logger is None and thread and _CLASS.fullmatch(thread):
        logger, thread, message = thread, None, (message or "").removeprefix("- ")  # in brackets, where others print the thread
    if logger and ":" in logger and layout.name != "klog":
        logger = logger.split(":", 1)[0]
    if logger and logger.startswith("apache."):
        logger = f"org.{logger}"  # log4j's %c{-1} leaves the first part out
    job = None
    if thread and (id_ := _JOB.search(thread)):
        job, thread = (
            id_[1] or id_[2],
            thread[: id_.start()],
        )  # the MDC of Flink 1.20+ (flink-job-id), where a layout prints it; of Spark 4 in JSON
    return Header(layout.name, time, level, logger or None, thread or None, message or "", job, layout.timed)


# Which layouts can fit at all, by how the line begins: a bracket, a two-digit year, a four-digit year.
_IN_BRACKETS = tuple(layout for layout in DATED if layout.expression.pattern.startswith("\\["))
_TWO_DIGITS = tuple(layout for layout in DATED if SHORT in layout.expression.pattern)
_FOUR_DIGITS = tuple(
    layout for layout in DATED if SHORT not in layout.expression.pattern and not layout.expression.pattern.startswith("\\[(")
)


_KAFKA = next(layout for layout in DATED if layout.name == "kafka")
_KAFKA_HEAD = expression(rf"\[{_T}\] +{_BIG} +")
_KAFKA_LOGGER = expression(r"[\w.$]+(?::\d+)?")


def _parse_kafka(line: str) -> Header | None:
    """What the expression of the layout says, without trying every length of the message: only the last bracket can hold the logger."""
    m = _KAFKA_HEAD.match(line)
    if m is None:
        return None
    at, logger = line.rfind(" (", m.end()), None
    if at >= 0 and line.endswith(")"):
        logger = _KAFKA_LOGGER.fullmatch(line, at + 2, len(line) - 1)
    if logger is None:
        return Header(_KAFKA.name, m["time"], LEVELS[m["level"]], None, None, line[m.end() :], None, _KAFKA.timed)
    return Header(_KAFKA.name, m["time"], LEVELS[m["level"]], logger[0].split(":", 1)[0], None, line[m.end() : at], None, _KAFKA.timed)


def parse_dated(line: str) -> Header:
    """The header of a line that begins with a full date and time (brackets allowed)."""
    if line.startswith("[") and (header := _parse_kafka(line)) is not None:
        return header
    shape = _IN_BRACKETS if line.startswith("[") else _TWO_DIGITS if line[2:3] == "/" else _FOUR_DIGITS
    for layout in shape:
        if m := layout.expression.fullmatch(line):
            return _header(layout, m)
    return Header("unknown", None, None, None, None, line)


_HEADS: dict[str, tuple[str, int, str | None, str | None, str | None, str | None, bool]] = {}
_HEADS_LIMIT = 4096
_CACHED = ("flink-log4j", "logback")


def dated_header(line: str) -> Header:
    """`parse_dated` for a line that `lines.classify` found to begin with a full date and time; quicker for heads that repeat.

    In the cached layouts nothing behind the first " - " has a say in what stands before it, as long as no bracket is open there
    and the message does not begin with a space or dash: so what was parsed once holds for every line with the same head.
    """
    if line[19:20] not in (",", ".") or line[23:24] != " " or not line[20:23].isdecimal() or line[0] == "[":
        return parse_dated(line)
    at = line.find(" - ", 23) + 3
    if at < 24 or line[at : at + 1] in ("", " ", "-"):
        return parse_dated(line)
    head = line[23:at]
    known = _HEADS.get(head)
    if known is not None:
        layout, end, level, logger, thread, job, timed = known
        return Header(layout, line[:end], level, logger, thread, line[at:], job, timed)
    header = parse_dated(line)
    if (
        header.layout in _CACHED
        and len(header.message) == len(line) - at
        and header.time is not None
        and at < 512
        and head.rfind("[") <= head.rfind("]")
    ):
        if len(_HEADS) >= _HEADS_LIMIT:
            _HEADS.clear()
        _HEADS[head] = (header.layout, len(header.time), header.level, header.logger, header.thread, header.job, header.timed)
    return header


def layout_of_head(head: bytes) -> str | None:
    """The layout of every line with this `head`, from its 24th byte to the first " - "; None if it is not known, or more decides."""
    known = _HEADS.get(head.decode("utf-8", "replace"))
    return None if known is None else known[0]


def dated_layout(line: bytes) -> str:
    """The layout of the header that `dated_header` gives of a line; hardly dearer than a look where the head was seen before."""
    at = line.find(b" - ", 23) + 3
    if at > 23 and line[19] in b",." and line[23] == 32 and line[20:23].isdigit() and line[0] != 91 and line[at : at + 1] not in b" -":
        known = _HEADS.get(line[23:at].decode("utf-8", "replace"))
        if known is not None:
            return known[0]
    return dated_header(line[: 64 << 10].decode("utf-8", "replace")).layout


def dated_time(line: str) -> str | None:
    """The text of the time stamp that such a line begins with."""
    m = LEADING_STAMP.match(line)
    return m[1] if m else None


# "11.03.2024 10:00:00,123", "11 mars 2024 10:00:00", "11. März 2024 10:00:00": what a German or French locale prints.
_NATIONAL = expression(r"(\[?)(\d{1,2})(?:[.-](\d\d)[.-]|\.? ([^\W\d_]{3,9})\.? )(\d{4})(?:,| à| um)? (?=\d\d:\d\d:\d\d)")
_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan janv janvier januar", "feb febr fev fevr fevrier februar", "mar mrz mars marz maerz", "apr avr avril april", "mai",
            "jun juin juni", "jul juil juillet juli", "aug aout august", "sep sept septembre september", "okt oct octobre oktober",
            "nov novembre november", "dez dec decembre dezember",
        ), 1)
    for name in names.split()
}  # fmt: skip


_NOT_ENGLISH = expression(r"\[?\d{1,2} (?:Mai|Mrz|Okt|Dez) ")  # look like English names, which another layout takes


def _parse_national(line: str) -> Header | None:
    """The header of a line whose date is written as in German or French: what the same line with an ISO date would say."""
    m = _NATIONAL.match(line)
    if m is None:
        return None
    month = int(m[3]) if m[3] else _MONTHS.get(_unaccented(m[4]), 0)
    if not (1 <= month <= 12 and 1 <= int(m[2]) <= 31):
        return None
    return parse_dated(f"{m[1]}{m[5]}-{month:02d}-{int(m[2]):02d} {line[m.end() :]}")


def _unaccented(name: str) -> str:
    return "".join(letter for letter in normalize("NFD", name.lower()) if letter.isascii())


def parse_rare(line: str) -> Header | None:
    """The header of a line with a rarer date, an epoch or no year; None if it is none."""
    if _NOT_ENGLISH.match(line) and (header := _parse_national(line)) is not None:
        return header
    for layout in RARE:
        if m := layout.expression.fullmatch(line):
            return _header(layout, m)
    return _parse_national(line)


def parse_dateless(line: str) -> Header | None:
    """The header of a line with a time but no date, or with the time since start; None if it is none."""
    for layout in DATELESS:
        if m := layout.expression.fullmatch(line):
            return _header(layout, m)
    return None


def parse_starter(line: str) -> Header | None:
    """The header of a line that begins an event anywhere, without a time of its own; None if it is none."""
    m = STARTER.fullmatch(line)
    if m is None:
        return None
    if crash := m["crash"]:
        return Header("crash", None, "ERROR", None, None, crash)
    return _header(_LEVEL_FIRST, m)


def parse_bare(line: str) -> Header:
    """The header of any other line where no header is around: a level at its start, if any, and the message."""
    m = _BARE.fullmatch(line)
    if m is not None:
        return _header(_LEVEL_FIRST, m)
    return Header("bare", None, "ERROR" if line.startswith('Exception in thread "') else None, None, None, line, None, False)
