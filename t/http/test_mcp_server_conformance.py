"""The server scenarios of the protocol's conformance kit, against an nginx with this module (`make
conformance`)."""

import json
import platform
import re
import subprocess
import sys

import pytest

from harness import environment
from harness.mcp_client import PATH
from harness.ports import free_port
from harness.tool_graph import tool_graph

_FOLDER = environment.ROOT / "t" / "conformance"
sys.path.insert(0, str(_FOLDER))

from server_scenarios import SCENARIOS, SESSION, STATELESS  # noqa: E402
from tool_server import ToolServer  # noqa: E402

_MODULES = environment.ROOT / "build" / "conformance" / "node_modules"
_KIT = _MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
_NODE = _MODULES / f"node-linux-{ {'x86_64': 'x64', 'aarch64': 'arm64'}[platform.machine()] }" / "bin" / "node"
_TIMEOUT = 300 * environment.TIME_SCALE  # for all scenarios of a revision, in seconds

pytestmark = pytest.mark.skipif(not _KIT.exists(), reason="the conformance kit is not installed")


def _kit(*arguments):
    return subprocess.run(
        [str(_NODE), str(_KIT), *arguments],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT,
    )


@pytest.fixture
def service(start_service, start_mock_provider):
    """A service whose graph has the tools of the kit, with a thread."""
    tools = ToolServer(free_port())
    graph = tool_graph(mcp_servers=[{"name": "kit", "url": tools.url, "tags": ["kit"]}])
    mock = start_mock_provider([{"match": {"userMessage": "hello"}, "response": {"content": "hello"}}])
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    service = start_service(
        {"agent": "graph.json:app", "models": {"default": model}, "facades": {"mcp": {"tools": ["kit"]}}},
        files={"graph.json": json.dumps(graph)}, workers=2,
    )
    assert service.invoke("hello", config={"thread_id": "t"}).status == 200
    yield service
    tools.close()


def _checks(service, revision, directory):
    """Runs the scenarios; returns the checks of each by its name."""
    done = _kit(
        "server", "--url", f"http://127.0.0.1:{service.port}{PATH}", "--requirements", revision,
        "--output-dir", str(directory),
    )
    found = {}
    for file in directory.glob("**/checks.json"):
        name = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        found[name] = json.loads(file.read_text())
    assert found, done.stdout + done.stderr
    return found


def _problems(checks):
    return {c["id"]: c.get("errorMessage") for c in checks if c["status"] in ("FAILURE", "WARNING")}


def _as_expected(checks, reason):
    problems = _problems(checks)
    if isinstance(reason, dict):
        return problems.keys() == reason.keys()
    passed = not problems and any(check["status"] == "SUCCESS" for check in checks)
    return passed is not bool(reason)


@pytest.mark.parametrize("revision", [SESSION, STATELESS])
def test_scenarios(service, directory, revision):
    found = _checks(service, revision, directory / "kit")
    expected = SCENARIOS[revision]
    assert found.keys() == expected.keys()
    wrong = {
        name: _problems(checks) or "passes"
        for name, checks in found.items()
        if not _as_expected(checks, expected[name])
    }
    assert not wrong, json.dumps(wrong, indent=2)
