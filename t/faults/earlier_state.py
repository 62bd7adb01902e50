"""Makes the kept samples of stored state that test_earlier_state.py opens.

    python3 t/faults/earlier_state.py NAME [AGENT_GRAPH_BUILD]     writes t/faults/earlier_state/NAME

Run it before a release that changes rows of the state. A sample is never made again: it is what a
version has written. It has a finished thread, a paused thread, a run that was in progress when all of
nginx was killed, and an accepted run that waited for it. Nothing in it depends on the time of day.

BEFORE_RUNS is what a build has written that kept no records of runs and accepted none; its entries of
the log do not have the values of fields. There the run in progress is that of a connected client."""

import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "http"))

from harness import processes  # noqa: E402
from harness.gated_provider import GatedProvider  # noqa: E402
from harness.service import Service, invocation  # noqa: E402

SAMPLES = pathlib.Path(__file__).resolve().parent / "earlier_state"
BEFORE_RUNS = "0.2.0-before-runs"
GRAPH = {
    "app": {
        "nodes": [
            {"name": "FIRST", "type": "reply", "text": "first", "set": {"visits": "FIRST"}},
            {"name": "SECOND", "type": "reply", "text": "second", "set": {"visits": "SECOND"}},
            {"name": "MODEL", "type": "agent"},
        ],
        "edges": [
            {"from": "START", "to": "FIRST"},
            {"from": "FIRST", "when": [{"field": "ask", "equals": True, "to": "SECOND"}],
             "otherwise": "MODEL"},
        ],
        "fields": {"visits": {"reducer": "append"}, "ask": {"default": False}},
        "interrupt_before": ["SECOND"],
    }
}


def make_service(directory, provider, **other):
    """A service of the sample's graph, not started."""
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    settings = {"agent": "sample.json:app", "models": models} | other
    service = Service(directory, settings, workers=2, location="agent_graph_run_timeout 3650d;")
    service.write("sample.json", json.dumps(GRAPH))
    return service


# Without it the run in progress would be continued, or not, depending on the age of the sample.
NO_RECOVERY = {"recovery": None}


def _fill(service, provider, accepts):
    """Returns the client that the run in progress needs, if there is one."""
    provider.open_gate()
    finished = invocation("hello", config={"thread_id": "finished", "run_id": "r1"})
    assert service.post("/v1/graph/invoke", finished).status == 200
    paused = invocation("please", config={"thread_id": "paused"}, initial_state={"ask": True})
    assert service.post("/v1/graph/invoke", paused).status == 200
    provider.close_gate()
    begun = invocation("slowly", config={"thread_id": "begun", "run_id": "r2"})
    if not accepts:
        client = service.connect()
        client.request("POST", "/v1/graph/stream", [], begun)
        provider.wait_for_waiting(1)
        return client
    assert service.post("/v1/graph/runs", begun).status == 202
    provider.wait_for_waiting(1)
    waiting = invocation("later", config={"thread_id": "begun", "run_id": "r3"})
    assert service.post("/v1/graph/runs", waiting).status == 202
    return None


def main():
    processes.adopt_orphans()
    target = SAMPLES / sys.argv[1]
    accepts = target.name != BEFORE_RUNS
    provider = GatedProvider()
    with tempfile.TemporaryDirectory(prefix="agent-graph-sample-") as directory:
        path = pathlib.Path(directory)
        path.chmod(0o755)
        service = make_service(path / "nginx", provider, **(NO_RECOVERY if accepts else {}))
        service.start()
        client = _fill(service, provider, accepts)
        service.kill_all()
        if client is not None:
            client.close()
        target.mkdir(parents=True)
        for file in sorted((service.directory / "state" / "test" / "db").iterdir()):
            if file.name.startswith(("CURRENT", "MANIFEST-", "SYNCED")) or file.suffix in (
                ".log",
                ".ldb",
            ):
                shutil.copyfile(file, target / file.name)
    provider.close()


if __name__ == "__main__":
    main()
