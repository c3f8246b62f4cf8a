"""Does the release read the settings that the job has: options that are gone, old names, values, and the file itself.

Sources: the list of removed options in the release notes, checked against the options that each release has; FLIP-366 for the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzers.derived.planned.answers import BREAKS, GOES, MOST_KEPT, UNKNOWN, answer, counted, some
from analyzers.derived.planned.upgrade.case import Answer, Upgrade
from analyzers.derived.planned.upgrade.facts import Entry, release

_LEGACY, _STANDARD = "flink-conf.yaml", "config.yaml"
_MIGRATE = (
    "bin/migrate-config-file.sh of Flink 1.19 and later makes a config.yaml of it; of a FlinkDeployment the operator writes it, where it "
    "knows the release."
)
_WHERE = "Give it with --conf (flink-conf.yaml, config.yaml, a FlinkDeployment), --flink-rest, or --logs from the start of a JobManager."


def settings(case: Upgrade) -> Iterator[Answer]:
    """What is gone, what has another name, what is as it was, and what no release of Flink names."""
    if not case.settings:
        yield answer("settings", UNKNOWN, "cannot be known without the configuration: none was found", _WHERE)
        return
    assert case.target is not None
    gone: dict[Entry, list[str]] = {}
    old: dict[str, str] = {}
    strange: list[str] = []
    for key in sorted(case.settings):
        entry, option = case.facts.removed_for(key, case.target), case.facts.option(key, case.target)
        if entry is not None:
            gone.setdefault(entry, []).append(key)
        elif option is not None and option.proper:
            old[key] = option.proper
        elif option is None and not case.facts.of_family(key):
            strange.append(key)
    yield from (_removed(case, entry, keys) for entry, keys in gone.items())
    known = len(case.settings) - len(strange) - sum(map(len, gone.values()))
    if old:
        says = (
            f"{counted(len(old), 'setting')} of the {known} that {case.to} reads {'have old names' if len(old) > 1 else 'has an old name'}"
        )
        names = [f"{key} is {proper}" for key, proper in old.items()]
        yield answer("old-settings", GOES, f"{says}, which it still reads: {some(names)}", "Write the new names.", **_about(list(old)))
    if known:
        yield answer("settings", GOES, f"{case.to} reads {known} of {counted(len(case.settings), 'setting')}", number=known)
    if strange:
        are = "is" if len(strange) == 1 else "are"
        says = f"{counted(len(strange), 'setting')} {are} no option that {case.to} itself has: {some(strange)}"
        todo = (
            "Look up what reads them: a file system's or reporter's plugin, Python, the SQL gateway, your own code; or they are misspelt."
        )
        yield answer("other-settings", UNKNOWN, says, todo, **_about(strange))
    if not case.shows_all_settings:
        yield answer("settings", UNKNOWN, "only a selection of the settings is in the evidence", _WHERE)
    for row in case.rows("sources"):
        if row["kind"] == "configuration" and row["state"] != "ok":
            yield answer("settings", UNKNOWN, f"{row['name']}: {row['why']}", "Look at these lines yourself, or give --flink-rest.")


def _removed(case: Upgrade, entry: Entry, keys: list[str]) -> Answer:
    is_set, it = ("is set", "it") if len(keys) == 1 else ("are set", "them")
    source = case.facts.sources[entry.source]
    beside = [key for key in entry.unless if key in case.settings]
    values = {(value or "").strip(" \"'").lower() for key in keys for value, _ in case.settings[key]}
    why = None
    if entry.no_effect:
        why = f"the releases before did not use {it} any more"
    elif beside:
        why = f"{beside[0]} is set in its place"
    elif values == {entry.default}:
        why = f"{entry.default} is what holds without {it}"
    if why is not None:
        says = f"{some(keys)} {is_set}, which {case.to} does not read; {why} ({source})"
        return answer("old-settings", GOES, says, entry.instead if entry.no_effect else "Take it out.", **_about(keys))
    says = f"{some(keys)} {is_set}, and {case.to} does not read {it}: without an error the default is in force ({source})"
    return answer("removed-settings", BREAKS, says, entry.instead, **_about(keys))


def setting_values(case: Upgrade) -> Iterator[Answer]:
    """Values whose meaning the release does not know."""
    assert case.target is not None
    for entry in case.facts.values:
        unknown = {each.lower() for each in entry.values} if entry.since <= case.target else set()
        for key in entry.keys:
            values = [((value or "").strip(" \"'"), origin) for value, origin in case.settings.get(key, ())]
            wrong = [(value, origin) for value, origin in values if value.lower() in unknown]
            if wrong:
                origins = some([origin for _, origin in wrong])
                says = f"{key} is {wrong[0][0]} in {origins}, which {case.to} does not know ({case.facts.sources[entry.source]})"
                yield answer("setting-values", BREAKS, says, entry.instead, **_about([key]))


def configuration_file(case: Upgrade) -> Iterator[Answer]:
    """Whether the file is one that the release opens."""
    only, standard = release(case.facts.file["only_since"]), release(case.facts.file["standard_since"])
    assert case.target is not None
    if case.target < only or (case.runs is not None and case.runs >= only):
        return
    source = case.facts.sources[case.facts.file["source"]]
    named = [str(row["origin"]) for row in case.rows("job_config") if row["source"] == "file" and row["origin"]]
    named += [str((event["detail"] or {}).get("path")) for event in case.latest("configuration-file")]
    legacy = sorted({path for path in named if path.endswith(_LEGACY)})
    deployed = any(row["source"] == "deployment" for row in case.rows("job_config"))
    if deployed:
        says = "the Kubernetes operator writes the configuration: whether the one that is installed knows the release is not known"
        yield answer("configuration-file", UNKNOWN, says, f"Look up in its release notes whether it knows flinkVersion {_version(case)}.")
    elif legacy or (case.runs is not None and case.runs < standard):
        what = f"{some(legacy)} is read now" if legacy else f"Flink {case.running[0] if case.running else ''} knows {_LEGACY} only"
        says = f"{what}, and {case.to} reads {_STANDARD} alone, as standard YAML ({source})"
        yield answer("configuration-file", BREAKS, says, _MIGRATE)
    elif any(path.endswith(_STANDARD) for path in named):
        yield answer("configuration-file", GOES, f"the configuration is in {_STANDARD} already, which {case.to} reads")
    else:
        says = f"whether the configuration is in {_LEGACY}, which {case.to} does not read, is not known ({source})"
        yield answer("configuration-file", UNKNOWN, says, f"Look into Flink's conf directory. {_MIGRATE}")


def _version(case: Upgrade) -> str:
    return "v" + "_".join(map(str, case.target or ()))


def _about(keys: list[str]) -> Answer:
    return {"settings": keys[:MOST_KEPT], "number": len(keys)}
