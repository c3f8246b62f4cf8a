"""Ask the database of known vulnerabilities about every locked dependency: `python3 .ci/audit.py`. Standard library only.

Where the database cannot be reached, or does not answer within a minute, it says so in one sentence and is no failure: that is about the
network, not about the change. pip-audit lives in an environment of its own, never in that of diag.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
OWN = ROOT / ".ci" / "audit.txt"  # made by `make lock`: what is installed and run here is pinned as what is audited
DATABASE = "api.osv.dev"
SECONDS = 55.0


def skipped(why):
    print(f"audit: skipped, {why}", file=sys.stderr)
    return 0


def reachable(host, seconds=3.0):
    try:
        socket.create_connection((host, 443), timeout=seconds).close()
    except OSError:
        return False
    return True


def run(command, until):
    left = until - time.monotonic()
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return subprocess.run(
        [str(part) for part in command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=left, check=False
    )


def judged(said):
    """Lines about what `pip-audit -f json` said, and whether a dependency is vulnerable. Raises ValueError where it said nothing."""
    dependencies = json.loads(said)["dependencies"]
    lines = []
    for each in dependencies:
        for found in each.get("vulns", ()):
            mended = ", ".join(found["fix_versions"]) or "no version yet"
            lines.append(f"audit: {each['name']} {each['version']}: {found['id']}, mended in {mended}")
    unknown = [each["name"] for each in dependencies if "skip_reason" in each]
    if unknown:
        lines.append(f"audit: nothing is known about {len(unknown)} of {len(dependencies)} dependencies: {', '.join(unknown)}")
    lines.append(f"audit: {len(dependencies) - len(unknown)} dependencies looked up")
    return lines, any(each.get("vulns") for each in dependencies)


def main():
    until = time.monotonic() + SECONDS
    if not reachable(DATABASE):
        return skipped("the database of vulnerabilities cannot be reached from here")
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        python = Path(folder) / "bin" / "python"
        try:
            made = run([sys.executable, "-m", "venv", folder], until)
            own = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", OWN]
            made = run(own, until) if made.returncode == 0 else made
            if made.returncode != 0:
                return skipped("pip-audit cannot be installed here")
            locks = [word for lock in LOCKS for word in ("-r", lock)]
            asked = run([python, "-m", "pip_audit", "-s", "osv", "--disable-pip", "--require-hashes", "-f", "json", *locks], until)
            lines, vulnerable = judged(asked.stdout)
        except subprocess.TimeoutExpired:
            return skipped(f"it took longer than {SECONDS:.0f} s")
        except (ValueError, KeyError, TypeError, OSError):
            return skipped("pip-audit did not answer as it should")
    print("\n".join(lines))
    return int(vulnerable)


if __name__ == "__main__":
    sys.exit(main())
