"""The status page: three formats, correct over all workers, also after one was killed."""

import json
import re
import shutil
import subprocess

import pytest

from harness import environment
from harness.agents import DEMO, behaviour
from harness.service import invocation
from harness.waiting import wait_until
from harness.websocket import WebSocket

pytestmark = pytest.mark.one_host("the status page of one host")

_PAGES = """
        location = /status { agent_graph_status; }
        location = /status.json { agent_graph_status format=json; }
        location = /metrics { agent_graph_status format=prometheus; }
"""
_SOCKETS = 'agent_graph_websockets{service="test"}'
_LIMITED = DEMO | {"rate_limit": {"requests": 1000}}

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABELS = r'\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"(?:,(?=[a-zA-Z_]))?)*\}'
_SAMPLE = re.compile(rf"({_NAME})({_LABELS})? (-?[0-9.e+]+|NaN|[+-]Inf)")


def parse_metrics(text):
    """Parses a Prometheus page strictly; returns its samples by name and labels."""
    assert text.endswith("\n")
    samples, types, current = {}, {}, None
    for line in text.split("\n")[:-1]:
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert re.fullmatch(_NAME, current) and len(line.split(" ", 3)) == 4
            assert current not in types, "a family in two places"
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and kind in ("counter", "gauge", "histogram")
            types[name] = kind
            assert (kind == "counter") == name.endswith("_total")
        else:
            match = _SAMPLE.fullmatch(line)
            assert match, line
            name = match[1]
            if types[current] == "histogram":
                name = re.sub("_(bucket|sum|count)$", "", name)
            assert name == current
            key = match[1] + (match[2] or "")
            assert key not in samples, f"{key} twice"
            samples[key] = float(match[3])
    return samples


def _metrics(service):
    reply = service.get("/metrics")
    assert reply.status == 200
    assert reply.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
    return parse_metrics(reply.text)


def _requests(samples, route, outcome):
    key = f'agent_graph_requests_total{{service="test",route="{route}",outcome="{outcome}"}}'
    return samples.get(key, 0)


def _rows(service):
    return service.get("/status.json").json()["services"][0]["rows"]


def test_counts_requests_runs_refusals_and_the_rate_limit(start_service):
    service = start_service(_LIMITED, server=_PAGES)
    for _ in range(3):
        assert service.get("/ping").status == 200
    assert service.invoke("hello").status == 200
    assert service.get("/nowhere").status == 404
    assert service.post("/v1/graph/invoke", {"messages": 5}).status == 422

    expected = {
        'agent_graph_requests_total{service="test",route="ping",outcome="ok"}': 3,
        'agent_graph_requests_total{service="test",route="graph",outcome="ok"}': 1,
        'agent_graph_requests_total{service="test",route="graph",outcome="rejected"}': 1,
        'agent_graph_requests_total{service="test",route="other",outcome="rejected"}': 1,
        'agent_graph_runs_total{service="test",outcome="ok"}': 1,
        'agent_graph_refusals_total{service="test",reason="not_found"}': 1,
        'agent_graph_refusals_total{service="test",reason="invalid"}': 1,
        'agent_graph_rate_limit_decisions_total{service="test",decision="admitted"}': 6,
        'agent_graph_workers{service="test",state="serving"}': 2,
    }

    def counted():
        samples = _metrics(service)
        return {key: samples.get(key) for key in expected} == expected

    wait_until(counted, "everything is counted")


def test_counts_what_models_and_the_state_take(start_service):
    lost = {"provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1", "api_key": "k"}
    service = start_service(DEMO, server=_PAGES)
    usages = [
        service.invoke(text).json()["data"]["messages"][-1]["usages"] for text in ("one", "two words")
    ]
    service.write_settings(DEMO | {"models": {"default": lost | {"retries_max": 0}}})
    service.reload()
    assert service.invoke("x").status == 500

    def counted():
        samples = _metrics(service)
        calls = [
            samples[f'agent_graph_model_calls_total{{service="test",outcome="{outcome}"}}']
            for outcome in ("ok", "error")
        ]
        return calls == [2, 1] and samples

    samples = wait_until(counted, "everything is counted")
    for kind, name in (("input", "prompt_tokens"), ("output", "completion_tokens")):
        tokens = samples[f'agent_graph_model_tokens_total{{service="test",kind="{kind}"}}']
        assert tokens == sum(usage[name] for usage in usages) > 0
    assert samples['agent_graph_model_seconds_total{service="test"}'] > 0
    assert samples['agent_graph_state_operations_total{service="test"}'] >= 6
    assert samples['agent_graph_state_seconds_total{service="test"}'] > 0


def _histogram(samples, name, labels):
    """Returns the count and the sum of a histogram and checks it."""
    start = f'{name}_bucket{{service="test"{labels},le="'
    buckets = {key[len(start) : -2]: value for key, value in samples.items() if key.startswith(start)}
    counts = list(buckets.values())
    assert counts == sorted(counts), "each bucket includes those below it"
    bounds = [float(bound) for bound in buckets]
    assert bounds == sorted(bounds)
    tail = f'{{service="test"{labels}}}'
    assert buckets["+Inf"] == samples[f"{name}_count{tail}"]
    return samples[f"{name}_count{tail}"], samples[f"{name}_sum{tail}"]


def test_measures_how_long_things_take(start_service):
    service = start_service(DEMO, server=_PAGES, workers=2)
    for _ in range(3):
        assert service.invoke("call current_time").status == 200
    service.stream("hello there").read_all()
    WebSocket(service.port).upgrade().reset()
    expected = {
        ("agent_graph_request_duration_seconds", ',route="graph"'): 4,
        ("agent_graph_first_chunk_seconds", ',route="graph"'): 1,
        ("agent_graph_model_call_duration_seconds", ',model="default"'): 7,
        ("agent_graph_tool_call_duration_seconds", ',tool="current_time"'): 3,
    }

    def counted():
        samples = _metrics(service)
        found = {
            (name, labels): samples.get(f'{name}_count{{service="test"{labels}}}', 0)
            for name, labels in expected
        }
        return found == expected and samples

    samples = wait_until(counted, "everything is measured")
    for name, labels in expected:
        count, seconds = _histogram(samples, name, labels)
        assert count == expected[name, labels] and seconds > 0
    count, seconds = _histogram(samples, "agent_graph_state_operation_duration_seconds", "")
    assert count >= 8 and seconds > 0
    assert samples['agent_graph_up{service="test"}'] == 1
    # Neither a reload nor the end of a worker takes anything back.
    service.error_log.allow("exited on signal 9")
    service.reload()
    service.kill(service.workers()[0].pid)
    service.wait_for_workers()
    later = _metrics(service)
    for name, labels in expected:
        key = f'{name}_count{{service="test"{labels}}}'
        assert later[key] >= samples[key]


def test_open_sockets_are_counted_over_a_reload(start_service, gated_provider):
    service = start_service(_LIMITED | _gated(gated_provider), server=_PAGES, workers=1)
    old = WebSocket(service.port).upgrade()
    old.send_json(invocation("wait"))  # the reload closes idle sockets
    gated_provider.wait_for_waiting(1)
    wait_until(lambda: _metrics(service)[_SOCKETS] == 1, "the socket is counted")
    service.reload()
    new = WebSocket(service.port).upgrade()
    wait_until(lambda: _metrics(service)[_SOCKETS] == 2, "both sockets are counted")
    decisions = 'agent_graph_rate_limit_decisions_total{service="test",decision="admitted"}'
    wait_until(lambda: _metrics(service)[decisions] == 2, "both handshakes are counted")
    old.reset()
    wait_until(lambda: _metrics(service)[_SOCKETS] == 1, "the old socket has gone")
    new.reset()


def _distinct(pairs):
    """Returns a dict of the members; fails if a name occurs twice."""
    assert len(dict(pairs)) == len(pairs), [name for name, _ in pairs]
    return dict(pairs)


def test_all_formats_say_the_same(start_service):
    service = start_service(DEMO, server=_PAGES, workers=1)
    assert service.get("/ping").status == 200
    status = json.loads(service.get("/status.json").body, object_pairs_hook=_distinct)["services"][0]
    assert status["name"] == "test"
    assert status["requests"] == {"ping.ok": 1}
    assert status["workers"] == {"serving": 1, "draining": 0}
    (row,) = status["rows"]
    assert row["pid"] == service.workers()[0].pid
    assert row["state"] == "serving"
    text = service.get("/status")
    assert text.header("Content-Type") == "text/plain"
    assert "service test\n" in text.text
    assert "  requests: ping.ok=1\n" in text.text
    assert f"pid={row['pid']}" in text.text
    assert service.request("HEAD", "/metrics").status == 200
    assert service.post("/metrics").status == 405


def test_the_manual_names_every_number(start_service):
    manual = (environment.ROOT / "docs" / "configuration.md").read_text()
    rows = [line for line in manual.splitlines() if line.startswith("| `agent_graph_") and ";`" not in line]
    named = {name for row in rows for name in re.findall(r"`(agent_graph_\w+)`", row)}
    # Only hosts that share a database show all of these; see test_monitoring.
    named = {name for name in named if not name.startswith("agent_graph_database_")}
    service = start_service(DEMO, server=_PAGES, workers=1)
    assert service.get("/ping").status == 200
    page = wait_until(
        lambda: (text := service.get("/metrics").text) and "requests_total{" in text and text,
        "the request is counted",
    )
    shown = set(re.findall(r"^# TYPE (?!agent_graph_database_)(\S+)", page, re.M))
    assert shown == named


def _gated(provider):
    model = {"provider": "openai", "model": "gated", "base_url": provider.base_url, "api_key": "key"}
    return DEMO | {"models": {"default": model}}


def _waiting_stream(service, provider):
    stream = service.stream("wait")
    provider.wait_for_waiting(1)
    return stream


def test_a_running_request_is_in_flight(start_service, gated_provider):
    service = start_service(_gated(gated_provider), server=_PAGES, workers=1)
    stream = _waiting_stream(service, gated_provider)
    status = service.get("/status.json").json()["services"][0]
    assert status["requests_in_flight"] == 1
    assert status["queue_running"] == 1
    stream.close()
    wait_until(
        lambda: (found := _metrics(service))
        and found['agent_graph_requests_in_flight{service="test"}'] == 0
        and found['agent_graph_runs_total{service="test",outcome="client_abort"}'] == 1,
        "the run has ended",
    )


def _runs(service, outcome):
    return _metrics(service)[f'agent_graph_runs_total{{service="test",outcome="{outcome}"}}']


def test_each_run_of_a_socket_is_counted(start_service):
    service = start_service(DEMO, server=_PAGES, workers=1)
    socket = WebSocket(service.port).upgrade()
    for _ in range(2):
        socket.send_json(invocation("hello"))
        socket.read_run()
    # This starts no run.
    socket.send_json({"messages": 5})
    socket.read_run()
    wait_until(lambda: _runs(service, "ok") == 2, "both runs are counted")
    service.write_settings(behaviour("throwing"))
    service.reload()
    failing = WebSocket(service.port).upgrade()
    failing.send_json(invocation("hello"))
    failing.read_run()
    wait_until(lambda: _runs(service, "error") == 1, "the run that failed is counted")
    assert _runs(service, "ok") == 2 and _runs(service, "rejected") == 0


def test_accepted_runs_are_counted(start_service):
    service = start_service(DEMO, server=_PAGES, workers=2)

    def accept(run_id):
        config = {"thread_id": "t", "run_id": run_id}
        assert service.post("/v1/graph/runs", invocation("hi", config=config)).status == 202

    accept("r1")
    accept("r2")
    wait_until(lambda: _runs(service, "ok") == 2, "both runs are counted")
    service.write_settings(behaviour("throwing"))
    service.reload()
    accept("r3")
    wait_until(lambda: _runs(service, "error") == 1, "the run that failed is counted")
    assert _runs(service, "ok") == 2


@pytest.mark.parametrize("on_abort, outcome", [("cancel", "client_abort"), ("continue", "ok")])
@pytest.mark.parametrize("over", ["stream", "socket"])
def test_a_run_whose_client_has_gone_is_counted_as_it_ends(
    start_service, gated_provider, on_abort, outcome, over
):
    service = start_service(
        _gated(gated_provider), server=_PAGES, workers=1, http=f"agent_graph_on_abort {on_abort};"
    )
    if over == "stream":
        _waiting_stream(service, gated_provider).close()
    else:
        socket = WebSocket(service.port).upgrade()
        socket.send_json(invocation("wait"))
        gated_provider.wait_for_waiting(1)
        socket.reset()
    wait_until(
        lambda: _requests(_metrics(service), "graph", "client_abort") == 1, "the request has ended"
    )
    gated_provider.open_gate()
    wait_until(lambda: _runs(service, outcome) == 1, "the run is counted")
    total = sum(value for name, value in _metrics(service).items() if "_runs_total{" in name)
    assert total == 1


def test_stays_true_when_workers_are_killed_and_reloaded(start_service, gated_provider):
    service = start_service(_gated(gated_provider), server=_PAGES, workers=2)
    for _ in range(4):
        assert service.get("/ping").status == 200
    stream = _waiting_stream(service, gated_provider)
    wait_until(lambda: _requests(_metrics(service), "ping", "ok") == 4, "all are counted")
    fresh = service.kill_workers()
    rows = wait_until(
        lambda: (found := _rows(service)) and {row["pid"] for row in found} == fresh and found,
        "the new workers have their rows",
    )
    assert sum(row["requests_in_flight"] for row in rows) == 0
    assert _requests(_metrics(service), "ping", "ok") == 4
    stream.close()

    generation = rows[0]["generation"]
    service.reload()
    wait_until(
        lambda: {row["generation"] for row in _rows(service)} == {generation + 1},
        "only new workers are left",
    )
    assert _requests(_metrics(service), "ping", "ok") == 4


def test_a_draining_worker_is_shown(start_service, gated_provider):
    service = start_service(_gated(gated_provider), server=_PAGES, workers=1)
    stream = _waiting_stream(service, gated_provider)
    service.reload()
    wait_until(
        lambda: sorted(row["state"] for row in _rows(service)) == ["draining", "serving"],
        "the old worker is shown as draining",
    )
    gated_provider.open_gate()
    assert stream.ended_with_done()
    stream.close()


def test_a_wrong_format_fails_the_test_of_the_configuration(make_service):
    service = make_service(DEMO, server="location = /m { agent_graph_status format=xml; }")
    assert "text, json or prometheus" in service.refusal()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_promtool_finds_nothing(start_service):
    service = start_service(_LIMITED, server=_PAGES)
    service.get("/ping")
    text = service.get("/metrics").text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
