"""The case tables of WebSocket conformance suites against WS /echo of a build with AGENT_GRAPH_ECHO
(`make conformance`). Results must not depend on TCP segments or on the timing of the engine."""

import json
import os
import shutil
import subprocess

import pytest

from harness.agents import DEMO
from harness.http1 import ConnectionClosed
from harness.websocket import CLOSE, PONG, WebSocket
from harness.websocket_cases import CASES, EMPTY_CLOSE


@pytest.fixture
def echo(start_service):
    service = start_service(
        DEMO, location="agent_graph_ws_max_message 17m; agent_graph_ws_ping off;"
    )
    # A build with this route answers that a handshake is required.
    if service.get("/echo").status == 404:
        pytest.skip("this build has no WS /echo")
    return service


def _send(socket, data, piece):
    try:
        if piece:
            socket.send_split(data, piece)
        else:
            socket.send(data)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the server has closed after an error; its frames are read


def _run(service, case):
    with WebSocket(service.port) as socket:
        socket.upgrade("/echo")
        _send(socket, case.sent, case.piece)
        expected = list(case.answers)
        while expected:
            answer = socket.read_frame()
            opcode, payload = expected.pop(0)
            # Only the latest of several pings must be answered.
            while opcode == PONG and payload != answer.payload and expected[:1] and expected[0][0] == PONG:
                opcode, payload = expected.pop(0)
            assert answer.opcode == opcode, f"{case.name}: {answer.opcode} {answer.payload[:60]}"
            assert answer.payload == payload, case.name
        _send(socket, case.last, case.piece)
        closing = socket.read_frame()
        assert closing.opcode == CLOSE, f"{case.name}: {closing.opcode} {closing.payload[:60]}"
        wanted = None if case.code is EMPTY_CLOSE else case.code
        assert closing.close_code in (wanted, 1000 if wanted is None else wanted), case.name


def test_cases(echo):
    failures = []
    for case in CASES:
        try:
            _run(echo, case)
        except (AssertionError, ConnectionClosed) as failure:
            failures.append(f"{case.name}: {failure}")
    assert not failures, "\n".join(failures)
    assert len(CASES) > 300


def test_autobahn(echo, directory):
    """The testsuite itself if it is installed (it needs Python 2.7): on PATH, or as $WSTEST."""
    wstest = shutil.which(os.environ.get("WSTEST", "wstest"))
    if wstest is None:
        pytest.skip("wstest is not installed")
    specification = {
        "outdir": str(directory),
        "servers": [{"agent": "echo", "url": f"ws://127.0.0.1:{echo.port}/echo"}],
        "cases": ["*"],
        # Compression is not offered.
        "exclude-cases": ["12.*", "13.*"],
        "exclude-agent-cases": {},
    }
    (directory / "specification.json").write_text(json.dumps(specification))
    subprocess.run(
        [wstest, "-m", "fuzzingclient", "-s", str(directory / "specification.json")],
        check=True, capture_output=True, cwd=directory,
    )
    results = json.loads((directory / "index.json").read_text())["echo"]
    assert len(results) > 290
    # "NON-STRICT" is accepted: answers to frames that were sent in one piece with an invalid frame
    # may be missing.
    good = {"OK", "NON-STRICT", "INFORMATIONAL"}
    wrong = {case: result for case, result in results.items() if result["behavior"] not in good}
    assert not wrong, wrong
