"""Only one version, that of the CMake project, is shown everywhere."""

import re
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO

_PROJECT = (environment.ROOT / "CMakeLists.txt").read_text()
_VERSION = re.search(r"project\(agent_graph VERSION (\S+)", _PROJECT)[1]


@pytest.mark.parametrize("program", ["agent-graph", "agent-graph-admin", "agent-extract"])
def test_programs_print_it(program):
    done = subprocess.run(
        [environment.BUILD / program, "--version"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, f"{program} {_VERSION}\n")


@pytest.mark.parametrize("program", ["agent-graph", "agent-graph-admin", "agent-extract"])
def test_programs_have_help(program):
    done = subprocess.run(
        [environment.BUILD / program, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {program} ")


def test_a_server_says_it(start_service):
    service = start_service(
        DEMO,
        server="location = /metrics { agent_graph_status format=prometheus; }\n"
        "location = /status { agent_graph_status format=json; }",
    )
    assert service.get("/openapi.json").json()["info"]["version"] == _VERSION
    metric = rf'^agent_graph_build_info{{service="test",version="{re.escape(_VERSION)}",nginx="[\d.]+"}} 1$'
    assert re.search(metric, service.get("/metrics").text, re.MULTILINE)
    assert service.get("/status").json()["services"][0]["build_info"] == {_VERSION: 1}
    line = rf"\[notice\].*agent_graph: version {re.escape(_VERSION)}$"
    assert len(service.error_log.lines(line)) == 1
    service.reload()
    assert len(service.error_log.lines(line)) == 2
    accepted, printed = service.test_configuration()
    assert accepted and "version" not in printed


def test_the_headers_have_it():
    """The headers are installed without the build that checks them."""
    header = (environment.ROOT / "engine/include/agent_graph/version.h").read_text()
    number = int(re.search(r"kSdkVersion = (\d+);", header)[1])
    assert f"{number // 10000}.{number // 100 % 100}.{number % 100}" == _VERSION
