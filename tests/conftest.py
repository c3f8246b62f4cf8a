"""One Spark for the whole test run: it takes seconds to start, and every test with data of its own may share it.

A test that starts its own does so on a `host` where nothing of this run is found.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import is_hypothesis_test

from cli.engine.class_archive import SWITCH
from cli.engine.java import Java, find_java
from cli.engine.spark import Engine
from tests import chromium, contract, examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from analyzers.report.report import Report
    from analyzers.tables import Row
    from tests.bundles import Case


def pytest_configure(config: pytest.Config) -> None:
    # Class-data archives of test runs stay with the checkout, and the commands that tests run share them.
    os.environ["XDG_CACHE_HOME"] = str(config.rootpath / ".pytest_cache" / "user-cache")
    contract.watch()
    examples.choose()


LIVE, SPARK = "live", "spark"
_ON_SPARK = re.compile(r"\b(?:engine|spark|evidence|judgement|grid): ")


@lru_cache(None)
def _group(path: Path) -> str:
    """What one of two workers runs as a whole: live tests, files with tests on the Spark of `engine`, each other file by itself."""
    if LIVE in path.parts:
        return LIVE
    return SPARK if _ON_SPARK.search(path.read_text("utf-8")) else path.stem


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The groups of ``--dist loadgroup``: pytest-xdist 3.8 itself writes them into the ids of tests, where pytest 9.2 overlooks them."""
    from xdist.scheduler import LoadScopeScheduling

    class OfGroups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(config.rootpath / nodeid.partition("::")[0])

    return OfGroups(config, log) if config.getvalue("dist") == "loadgroup" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by what they need, and begin with live tests, then with those on Spark.

    Live tests are first in any case: commands that they run in this process stop their Spark, and with it whatever PySpark holds for it.
    """
    for item in items:
        needs = item.fixturenames if isinstance(item, pytest.Function) else []
        if "engine" in needs and _group(item.path) not in (LIVE, SPARK):
            raise pytest.UsageError(f"{item.nodeid} needs the Spark of the tests, which conftest.py does not see in its file")
        if _group(item.path) == LIVE:
            item.add_marker(pytest.mark.live)
        if "host" in needs:
            item.add_marker(pytest.mark.jvm)
        if "browser" in needs:
            item.add_marker(pytest.mark.browser)
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj):
            item.add_marker(pytest.mark.fuzz)
    items.sort(key=lambda item: (_group(item.path) != LIVE, _group(item.path) != SPARK))


@pytest.fixture(autouse=True)
def _nothing_stays_confined() -> Iterator[None]:
    """What a server of tools may open and ask is of its whole process, here of one worker's tests."""
    yield
    from analyzers.bundle.confined import confine
    from cli.collectors.kafka_reach import allow_only

    confine(None)
    allow_only(None)


@pytest.fixture(autouse=True)
def _every_report_keeps_the_contract() -> Iterator[None]:
    yield
    assert contract.breaches() == [], "a report that this test made is not what `diag schema` describes"


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A running engine, two local threads. It records no archive: for as long as it did, no command under test could."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "1")
        started = Engine.start("local[2]")
    with started:
        started.context()
        yield started


@pytest.fixture(scope="session")
def spark(engine: Engine) -> SparkSession:
    """The session of `engine`."""
    return engine.session()


def _asking(session: pytest.Session, fixture: str) -> list[pytest.Function]:
    """The chosen tests that ask for `fixture`, directly or through another; with workers, those of all of them."""
    return [item for item in session.items if isinstance(item, pytest.Function) and fixture in item.fixturenames]


def _chosen(session: pytest.Session) -> list[Case]:
    """The bundles that the chosen tests ask for (``-k CKP101``: a handful), all of them where a test asks for none in particular."""
    from tests.bundles import ALL

    asked = _asking(session, "judgement")
    cases = [item.callspec.params.get("case") if hasattr(item, "callspec") else None for item in asked]
    return ALL if None in cases else [case for case in ALL if case in cases]


@pytest.fixture(scope="session")
def evidence(request: pytest.FixtureRequest) -> dict[str, list[Row]]:
    """The tables of the bundles, each bundle its own scope."""
    from analyzers.tables import TABLES
    from tests.bundles import shown_by

    tables: dict[str, list[Row]] = {name: [] for name, table in TABLES.items() if not table.derived}
    for case in _chosen(request.session):
        for name, rows in shown_by(case).items():
            tables[name].extend(rows)
    return tables


@pytest.fixture(scope="session")
def copied(request: pytest.FixtureRequest) -> dict[str, dict[str, dict[str, list[Row]]]]:
    """The tables of the copies that chosen tests ask for: by the fixture with which they ask, by scope."""
    from tests.copies import COPIES

    return {name: dict(make()) for name, make in COPIES.items() if _asking(request.session, name)}


@pytest.fixture(scope="session")
def printed_again(copied: dict[str, dict[str, Any]]) -> list[str]:
    """The scopes of bundles in `judgement` whose logs another logger printed."""
    return list(copied["printed_again"])


@pytest.fixture(scope="session")
def few_rows(copied: dict[str, dict[str, Any]]) -> list[str]:
    """The scopes of recordings in `judgement` of which few rows are kept."""
    return list(copied["few_rows"])


@pytest.fixture(scope="session")
def redacted(copied: dict[str, dict[str, Any]]) -> list[str]:
    """The scopes of recordings in `judgement` that are redacted."""
    return list(copied["redacted"])


@pytest.fixture(scope="session")
def judgement(engine: Engine, evidence: dict[str, list[Row]], copied: dict[str, dict[str, dict[str, list[Row]]]]) -> Report:
    """The bundles, and copies of them, as one evidence, judged in one go: as a fleet is."""
    from analyzers.diagnosis.diagnose import judge
    from tests.bundles import OWN, RULE, without_need
    from tests.copies import in_scope

    if RULE is None:
        tables: dict[str, list[Row]] = {name: [] for name in evidence}
        for shown in (evidence, *(in_scope(own, scope) for each in copied.values() for scope, own in each.items())):
            for name, rows in shown.items():
                tables[name].extend(rows)
        return judge(tables, engine.session, command="triage", version="test")
    # all rules on the bundles of the one that is asked for, and that one alone on what else is healthy
    mine = {case.scope for case in OWN}
    own, others = ({name: [row for row in rows if (row["scope"] in mine) is of] for name, rows in evidence.items()} for of in (True, False))
    rules = without_need(RULE)
    report = judge(own, engine.session, command="triage", version="test", rules=rules)
    rest = judge(others, engine.session, command="triage", version="test", rules=[rule for rule in rules if rule.code == RULE])
    more = {name: [*getattr(report, name), *getattr(rest, name)] for name in ("findings", "verdicts", "defects")}
    return replace(report, **more)


@pytest.fixture(scope="session")
def grid(judgement: Report) -> Report:
    """What `judgement` says of the bundles themselves."""
    from tests.copies import is_copy, names_of_jobs

    return replace(
        judgement,
        job_names={**judgement.job_names, **names_of_jobs()},
        **{
            name: [each for each in getattr(judgement, name) if not is_copy(each.scope)]
            for name in ("findings", "verdicts", "history", "noticed")
        },
        job_state=[row for row in judgement.job_state if not is_copy(row["scope"])],
    )


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    """The environment of a host of its own: empty cache, own temporary directory."""
    for name in ("cache", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    return environment | {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path / "tmp"),
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
    }


@pytest.fixture
def real_java() -> Java:
    """The Java that is installed here."""
    return find_java()


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Chromium]:
    """A page of the distribution's browser."""
    if chromium.FOUND is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no chromium: apt-get install chromium")
        pytest.skip("there is no chromium: apt-get install chromium")
    with chromium.Chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started
