"""Export of traces to an OpenTelemetry collector."""

import json
import re
import threading

import pytest

from harness import environment, processes
from harness.agents import DEMO, behaviour
from harness.http_service import HttpService
from harness.live import LIVE, LiveClient
from harness.otlp import read_spans
from harness.ports import free_port
from harness.service import invocation
from harness.waiting import wait_until

_PRODUCTION = {"production.env": "MODE=production\n"}


class Collector:
    """A collector that records requests; `statuses` are its next answers, after that 200."""

    def __init__(self):
        self.statuses = []
        self.headers = {}
        self.gate = threading.Event()
        self.gate.set()
        self.service = HttpService(self._answer)

    def _answer(self, *_):
        self.gate.wait()
        status = self.statuses.pop(0) if self.statuses else 200
        return status, "application/json", "{}"

    @property
    def spans(self):
        return [span for request in list(self.service.requests) for span in read_spans(request["body"])]

    @property
    def roots(self):
        return [span for span in self.spans if "parentSpanId" not in span]

    def wait_for_roots(self, count):
        return wait_until(
            lambda: len(found := self.roots) >= count and found, f"{count} runs are exported"
        )

    def trace(self):
        """Returns the spans of the only trace."""
        (root,) = self.wait_for_roots(1)
        return root, [span for span in self.spans if span["traceId"] == root["traceId"]]

    def close(self):
        self.gate.set()
        self.service.close()


@pytest.fixture
def collector():
    running = Collector()
    yield running
    running.close()


def _exporting(collector, settings=DEMO, **more):
    # The time for an answer is long, because an export that is repeated is there twice.
    observability = {"endpoint": collector.service.url, "interval_ms": 50, "timeout_ms": 60_000} | more
    return settings | {"observability": observability}


def _named(spans, pattern):
    return [span for span in spans if re.fullmatch(pattern, span["name"])]


def test_a_run_with_its_nodes_models_and_tools(start_service, start_mock_provider, collector):
    call = {"name": "current_time", "id": "c1", "arguments": "{}"}
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    mock = start_mock_provider(
        [
            {"match": {"hasToolResult": False}, "response": {"toolCalls": [call], "usage": usage}},
            {"match": {"hasToolResult": True}, "response": {"content": "noon", "usage": usage}},
        ]
    )
    model = {"provider": "openai", "model": "gpt-x", "base_url": mock.base_url}
    settings = {"agent": "graphs/support.json:app", "models": {"default": model}}
    service = start_service(_exporting(collector, settings, service_name="my-support"))
    meta = service.invoke("the time?", config={"thread_id": "t"}).json()["data"]["meta"]
    root, spans = collector.trace()
    assert root["name"] == "invoke_agent support" and root["kind"] == 1
    assert root["resource"]["service.name"] == "my-support"
    attributes = root["attributes"]
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.agent.name"] == "support"
    assert attributes["gen_ai.conversation.id"] == "t"
    assert attributes["agent_graph.run.id"] == meta["run_id"]
    assert attributes["agent_graph.run.status"] == "done"
    assert attributes["gen_ai.usage.input_tokens"] == 14
    assert attributes["gen_ai.usage.output_tokens"] == 10
    nodes = _named(spans, "node .*")
    assert [node["name"] for node in nodes] == ["node MAIN", "node TOOL", "node MAIN"]
    assert all(node["parentSpanId"] == root["spanId"] for node in nodes)
    chats = _named(spans, "chat gpt-x")
    assert [chat["parentSpanId"] for chat in chats] == [nodes[0]["spanId"], nodes[2]["spanId"]]
    for chat, reason in zip(chats, ("tool_calls", "stop")):
        assert chat["kind"] == 3
        assert chat["attributes"]["gen_ai.operation.name"] == "chat"
        assert chat["attributes"]["gen_ai.provider.name"] == "openai"
        assert chat["attributes"]["gen_ai.request.model"] == "gpt-x"
        assert chat["attributes"]["gen_ai.response.model"]
        assert chat["attributes"]["gen_ai.response.finish_reasons"] == [reason]
        assert chat["attributes"]["gen_ai.usage.input_tokens"] == 7
    (tool,) = _named(spans, "execute_tool current_time")
    assert tool["parentSpanId"] == nodes[1]["spanId"]
    assert tool["attributes"]["gen_ai.operation.name"] == "execute_tool"
    assert tool["attributes"]["gen_ai.tool.name"] == "current_time"
    assert tool["attributes"]["gen_ai.tool.call.id"] == "c1"
    assert tool["attributes"]["gen_ai.tool.type"] == "function"
    assert len(spans) == 1 + 3 + 2 + 1 and not any("status" in span for span in spans)
    for span in spans:  # children are within their parents
        parent = next((p for p in spans if p["spanId"] == span.get("parentSpanId")), span)
        assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
        assert int(span["endTimeUnixNano"]) <= int(parent["endTimeUnixNano"])
    # Contents of messages are not exported.
    assert "the time?" not in json.dumps(collector.service.requests[0]["body"])


def test_a_failed_run(start_service, collector):
    service = start_service(_exporting(collector, behaviour("throwing")))
    assert service.invoke("x").status == 500
    root, spans = collector.trace()
    (node,) = _named(spans, "node BROKEN")
    for span in (root, node):
        assert span["status"]["code"] == 2
        assert "always fails" in span["status"]["message"]
        assert span["attributes"]["error.type"] == "graph"
    assert root["attributes"]["agent_graph.run.status"] == "error"


def test_a_failed_model_call(start_service, collector):
    model = {"provider": "openai", "model": "m", "base_url": f"http://127.0.0.1:{free_port()}",
             "retries_max": 0}
    settings = {"agent": "graphs/support.json:app", "models": {"default": model}}
    service = start_service(_exporting(collector, settings))
    assert service.invoke("x").status == 500
    _, spans = collector.trace()
    (chat,) = _named(spans, "chat m")
    assert chat["status"]["code"] == 2 and chat["attributes"]["error.type"]


def test_the_trace_of_the_caller_goes_on(start_service, collector):
    service = start_service(_exporting(collector))
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    for flags in ("00", "01"):
        service.post(
            "/v1/graph/invoke",
            invocation("x"),
            headers={"traceparent": f"00-{trace}-{parent}-{flags}"},
        )
    service.post("/v1/graph/invoke", invocation("y"), headers={"traceparent": "nonsense"})
    wait_until(lambda: len(_named(collector.spans, "invoke_agent .*")) >= 2, "both are exported")
    roots = _named(collector.spans, "invoke_agent .*")
    assert len(roots) == 2  # the client had disabled sampling for the first one
    parents = {r["traceId"]: r.get("parentSpanId") for r in roots}
    assert parents.pop(trace) == parent
    assert list(parents.values()) == [None]


def test_every_kind_of_run_on_every_worker(start_service, collector):
    service = start_service(_exporting(collector), workers=2)
    for _ in range(5):
        service.invoke("x")
        service.stream("x").read_all()
    roots = collector.wait_for_roots(10)
    assert len({root["traceId"] for root in roots}) == 10


def test_a_live_session_is_named_and_exported(start_service, collector):
    settings = LIVE | {"thread_name_generator": "random"}
    service = start_service(_exporting(collector, settings))
    parent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    client = LiveClient(service.port).start(
        headers={"traceparent": parent}, thread_id="told", modalities="TEXT"
    )
    client.type('call calculator {"expression": "6*7"}')
    client.read_turn()
    client.send_json({"type": "close"})
    client.read_to_end()
    thread = service.get("/v1/threads/told").json()["data"]["thread_data"]
    assert len(thread["thread_name"].split("-")) == 3
    spans = wait_until(lambda: collector.spans, "the session is exported")
    assert {span["traceId"] for span in spans} == {"ab" * 16}
    root, node = (next(s for s in spans if s["name"] == n) for n in ("invoke_agent app", "node VOICE"))
    assert root["parentSpanId"] == "cd" * 8
    assert root["attributes"]["gen_ai.conversation.id"] == "told"
    assert root["attributes"]["agent_graph.run.status"] == "done"
    # The tool may start before the answer that calls it has ended.
    below = [span for span in spans if span["parentSpanId"] == node["spanId"]]
    assert sorted(span["name"].split()[0] for span in below) == ["chat", "chat", "execute_tool"]
    (call,) = _named(below, "execute_tool calculator")
    assert call["attributes"]["gen_ai.tool.name"] == "calculator"


def test_without_a_checkpointer(start_service, collector):
    service = start_service(_exporting(collector, DEMO | {"checkpointer": "none"}))
    service.invoke("call current_time")
    _, spans = collector.trace()
    assert _named(spans, "execute_tool current_time")


def test_production_exports_and_keeps_no_traces(start_service, collector):
    """The memory of workers does not grow with the number of runs."""
    service = start_service(
        _exporting(collector, DEMO | {"env": "production.env"}), files=_PRODUCTION, workers=1
    )

    def run(count):
        for i in range(count):
            reply = service.invoke("call current_time " * 20, config={"thread_id": f"t{i % 4}"})
            assert reply.status == 200

    worker = service.only_worker()
    sizes = []
    for batch in range(1, 11):
        run(50)
        collector.wait_for_roots(50 * batch)
        sizes.append(processes.resident_bytes(worker.pid))
    # Kept traces (2 KB each as JSON, more in memory) would show in every batch. A single batch may
    # grow by megabytes, when a thread of the worker allocates for the first time. The first batches
    # make the conversations long.
    growths = sorted(after - before for before, after in zip(sizes[3:], sizes[4:]))
    if not environment.SANITIZER:
        assert growths[len(growths) // 2] < 64 * 1024, f"bytes after each batch: {sizes}"
    trace = service.get("/v1/observability/t0").json()["data"]
    assert (trace["run_count"], trace["run_ids"], trace["run"]) == (0, [], None)
    assert service.get("/v1/graph").json()["data"]["info"]["publisher"] is True


def test_variables_of_opentelemetry(start_service, collector):
    variables = (
        "OTEL_ENABLED=true\n"
        f"OTEL_EXPORTER_OTLP_ENDPOINT={collector.service.url}/\n"
        "OTEL_EXPORTER_OTLP_HEADERS=x-team=blue, authorization=Bearer abc,x-project=a%20b%2Cc\n"
        "OTEL_SERVICE_NAME=from-the-environment\n"
    )
    service = start_service(DEMO | {"env": "otel.env"}, files={"otel.env": variables})
    service.invoke("x")
    root, _ = collector.trace()
    assert root["resource"]["service.name"] == "from-the-environment"
    request = collector.service.requests[0]
    assert (request["method"], request["path"]) == ("POST", "/v1/traces")
    assert request["headers"]["content-type"] == "application/json"
    assert request["headers"]["x-team"] == "blue"
    assert request["headers"]["authorization"] == "Bearer abc"
    assert request["headers"]["x-project"] == "a b,c"


@pytest.mark.parametrize(
    "settings, variables, publisher",
    [
        ({}, "", False),
        ({"observability": None}, "", False),
        ({"observability": {}}, "", False),
        ({"observability": {"service_name": "x"}}, "", True),
        ({"observability": {"service_name": "x"}}, "OTEL_ENABLED=\n", True),
        ({"observability": {"service_name": "x"}}, "OTEL_ENABLED=false\n", False),
        ({"observability": {"enabled": False}}, "OTEL_ENABLED=true\n", False),
        ({}, "OTEL_ENABLED=1\n", True),
        ({"observability": {"level": "full", "logfire": {"enabled": True}}}, "", False),
    ],
)
def test_who_switches_it_on(start_service, settings, variables, publisher):
    service = start_service(DEMO | settings | {"env": "otel.env"}, files={"otel.env": variables})
    info = service.get("/v1/graph").json()["data"]["info"]
    assert info["publisher"] is publisher
    assert service.invoke("x").status == 200  # nothing listens at the default address


def test_refusals_are_retried_and_rejections_are_not(start_service, collector):
    collector.statuses = [503, 429, 200, 400]
    service = start_service(_exporting(collector), workers=1)
    service.invoke("x")
    wait_until(lambda: len(collector.service.requests) == 3, "the third attempt is made")
    bodies = [request["body"] for request in collector.service.requests]
    assert bodies[0] == bodies[1] == bodies[2]
    service.invoke("x")
    service.wait_for_log("answered 400")
    service.invoke("x")
    wait_until(lambda: len(collector.service.requests) == 5, "the next run is exported")


def test_a_collector_that_hangs_delays_no_run(start_service, collector):
    """Runs continue, the queue stays within its limit, and the number of dropped spans is
    reported."""
    collector.gate.clear()
    settings = _exporting(collector, queue_bytes_max=65536)
    service = start_service(settings, workers=1)
    for _ in range(100):
        assert service.invoke("call current_time " * 50).status == 200
    collector.gate.set()
    service.wait_for_log("were not exported as traces")
    assert collector.wait_for_roots(1)


def test_what_is_queued_leaves_with_the_worker(make_service, collector):
    service = make_service(_exporting(collector, interval_ms=60000))

    def runs():
        return [span["attributes"]["agent_graph.run.id"] for span in collector.roots]

    def exported():
        service.start()
        run = service.invoke("x").json()["data"]["meta"]["run_id"]
        assert run not in runs()
        service.quit()
        service.wait_until_gone()
        return run in runs()

    # A worker that exits waits one second; the collector may sometimes need longer.
    wait_until(exported, "a worker takes its runs to the collector when it leaves")
    assert len(runs()) == len(set(runs()))


@pytest.mark.parametrize(
    "observability, variables, reason",
    [
        ({"endpoint": "collector:4318"}, "", "observability.endpoint"),
        ({"sample_ratio": 2}, "", "observability.sample_ratio"),
        ({"endpiont": "http://x"}, "", "did you mean endpoint?"),
        (None, "OTEL_ENABLED=maybe\n", "OTEL_ENABLED"),
        (None, "OTEL_EXPORTER_OTLP_ENDPOINT=x\n", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        (None, "OTEL_EXPORTER_OTLP_HEADERS=secret\n", "OTEL_EXPORTER_OTLP_HEADERS"),
    ],
)
def test_mistakes_are_found_by_nginx(make_service, observability, variables, reason):
    settings = DEMO | {"observability": observability, "env": "otel.env"}
    service = make_service(settings, files={"otel.env": variables})
    assert reason in service.refusal()
