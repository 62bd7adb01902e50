"""The client scenarios of the protocol's conformance kit, against an nginx with this module (`make
conformance`)."""

import json
import platform
import re
import shlex
import subprocess
import sys

import pytest

from harness import environment

_FOLDER = environment.ROOT / "t" / "conformance"
sys.path.insert(0, str(_FOLDER))

from client_scenarios import SCENARIOS  # noqa: E402

_MODULES = environment.ROOT / "build" / "conformance" / "node_modules"
_KIT = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_NODE = _MODULES / f"node-linux-{ {'x86_64': 'x64', 'aarch64': 'arm64'}[platform.machine()] }"
_TIMEOUT = 60 * environment.TIME_SCALE  # for one scenario, in seconds
_TIMED_TRIES = 5

pytestmark = pytest.mark.skipif(not _KIT.exists(), reason="the conformance kit is not installed")


def _kit(*arguments):
    command = [str(_NODE / "bin" / "node"), str(_KIT), *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2 * _TIMEOUT
    )


def _run(scenario, revision, directory):
    """Returns "passed", "failed" or "unchecked", and the kit's output."""
    client = shlex.join([sys.executable, str(_FOLDER / "client.py")])
    ended = _kit(
        "client", "--command", client, "--scenario", scenario.name, "--spec-version", revision,
        "--timeout", str(int(_TIMEOUT * 1000)), "--output-dir", str(directory),
        *(["--force"] if scenario.extension else []),
    )
    [checks] = directory.glob("*/**/checks.json")
    statuses = {check["status"] for check in json.loads(checks.read_text())}
    said = ended.stdout + ended.stderr
    if ended.returncode != 0:
        return "failed", said
    return ("passed" if "SUCCESS" in statuses else "unchecked"), said


def _expected(scenario):
    if scenario.unchecked:
        return "unchecked"
    return "failed" if scenario.reason else "passed"


@pytest.mark.parametrize(
    ("scenario", "revision"),
    [
        pytest.param(scenario, revision, id=f"{scenario.name}-{revision}")
        for scenario in SCENARIOS
        for revision in scenario.revisions
    ],
)
def test_scenario(scenario, revision, directory):
    for number in range(_TIMED_TRIES if scenario.timed else 1):
        outcome, said = _run(scenario, revision, directory / str(number))
        if outcome == _expected(scenario):
            return
    pytest.fail(f"{outcome}, expected: {_expected(scenario)} {scenario.reason}\n{said}")


def test_every_scenario_of_the_kit_is_here():
    printed = _kit("list", "--client").stdout
    listed = dict(re.findall(r"^  - (\S+) \[(.*)\]$", printed, re.M))
    assert listed.keys() == {scenario.name for scenario in SCENARIOS}
    for scenario in SCENARIOS:
        expected = "extension" if scenario.extension else ",".join(scenario.revisions)
        assert listed[scenario.name] == expected, scenario.name
