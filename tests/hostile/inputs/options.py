"""Values of options that mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.hostile.inputs.case import CASES, ILL, REFUSED, ROOT, Attack


def _option(name: str, codes: set[int], *words: str, **more: Any) -> None:
    def make(here: Path) -> Attack:
        arguments = [word.replace("HERE", str(here)).replace("ILL", str(ILL)) for word in words]
        return Attack(arguments, codes, **more)

    CASES[name] = make


_option("since_beyond_time", REFUSED, "triage", "ILL", "--since", "99999999999d", says="--since|time")
_option("since_within_python_beyond_time", {1, 2, 3}, "triage", "ILL", "--since", "999999999d", facts_only=False, quick=False)
_option("until_beyond_time", REFUSED, "triage", "ILL", "--until", "99999999999999h", says="--until|time")
_option("since_of_a_million_digits", REFUSED, "triage", "ILL", "--since", "9" * 100_000 + "d")
_option("since_at_the_end_of_time", {1, 2, 3}, "triage", "ILL", "--since", "9999-12-31T23:59:59-12:00", facts_only=False, quick=False)
_option("until_at_the_beginning_of_time", {2, 3}, "triage", "ILL", "--until", "0001-01-01T00:00:00+12:00", facts_only=False, quick=False)
_option("timeout_beyond_time", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:1", "--timeout", "9" * 400 + "s")
_option("timeout_of_years", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:1", "--timeout", "99999999999999s")
_option("rest_timeout_of_years", {2, 3}, "triage", "--flink-rest", "http://127.0.0.1:1", "--timeout", "99999999999999s")
_option("zone_that_leads_out", REFUSED, "triage", "ILL", "--log-timezone", "../../../etc/passwd", says="--log-timezone")
_option("zone_of_many_parts", REFUSED, "triage", "ILL", "--log-timezone", "a/" * 700 + "a", says="--log-timezone")
_option("zone_of_a_thousand_hours", REFUSED, "triage", "ILL", "--log-timezone", "+99:99", says="--log-timezone")
_option("glob_without_a_match", REFUSED, "triage", "HERE/*.nothing", says="no file")
_option("glob_without_a_match_beside_logs", REFUSED, "triage", "ILL", "HERE/*.nothing", says="no file")
_option("glob_of_checkpoints_without_a_match", REFUSED, "checkpoint-inspect", "HERE/chk-*")
_option("glob_that_is_damaged", REFUSED, "triage", "HERE/[a")
_option("logs_glob_without_a_match", REFUSED, "checkpoint-inspect", str(ROOT / "fixtures"), "--logs", "HERE/*.nothing")
_option("name_longer_than_any", REFUSED, "triage", "HERE/" + "a" * 5000)
_option("local_0", REFUSED, "triage", "ILL", "--spark-master", "local[0]", says="--spark-master", facts_only=False)
_option("local_x", REFUSED, "triage", "ILL", "--spark-master", "local[x]", says="--spark-master", facts_only=False)
_option("local_open", REFUSED, "triage", "ILL", "--spark-master", "local[", says="--spark-master", facts_only=False)
_option("local_minus_1", REFUSED, "triage", "ILL", "--spark-master", "local[-1]", says="--spark-master", facts_only=False)
_option("local_empty", REFUSED, "triage", "ILL", "--spark-master", "", says="--spark-master", facts_only=False)
_option("local_cluster", {1, 2, 3}, "triage", "ILL", "--spark-master", "local-cluster[1,1,1024]", facts_only=False, quick=False)
_option("master_of_nonsense", {2, 3}, "triage", "ILL", "--spark-master", "nonsense://a", facts_only=False, quick=False)
_option("master_that_does_not_answer", {2, 3}, "triage", "ILL", "--spark-master", "spark://127.0.0.1:1", facts_only=False, quick=False)
_option("cores_without_number", {1, 2}, "triage", "ILL", "--cores", "99999999999", facts_only=False, quick=False)
_option("memory_of_no_host", {2, 3}, "triage", "ILL", "--memory", "99999999g", facts_only=False, quick=False)
_option("port_beyond_ports", {1, 2, 3}, "broker-health", "-b", "127.0.0.1:99999999", "--timeout", "1s")
_option("bootstrap_of_brackets", {1, 2, 3}, "broker-health", "-b", "[::1", "--timeout", "1s")
_option("bootstrap_of_a_long_name", {1, 2, 3}, "broker-health", "-b", "a" * 300 + ":9092", "--timeout", "1s")
_option("rest_port_beyond_ports", {2, 3}, "triage", "--flink-rest", "http://127.0.0.1:99999999")
_option("rest_host_of_a_long_name", {2, 3}, "triage", "--flink-rest", "http://" + "a" * 300)
_option("rest_host_of_dots", {2, 3}, "triage", "--flink-rest", "http://a..b:80/")
_option("group_of_a_bad_expression", {2, 3}, "lag-report", "-b", "127.0.0.1:1", "--group", "(((", "--timeout", "1s")
_option("rebase_of_nothing", REFUSED, "checkpoint-inspect", "HERE", "--rebase", "=")
_option("remote_path_of_nonsense", {2, 3}, "checkpoint-inspect", "s3://", "nonsense://a/b")
_option("only_a_pattern_of_brackets", {0, 1}, "triage", "ILL", "--only", "RST501=[", facts_only=False, quick=False)
_option("save_where_nothing_can_be", {2, 3}, "triage", "ILL", "--save", "/proc/nothing/saved")
_option("report_where_nothing_can_be", {2, 3}, "triage", "ILL", "-o", "json=/proc/self/nothing.json")
