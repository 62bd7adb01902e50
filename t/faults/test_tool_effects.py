"""kill -9 of a worker at each point of a run with tools: nothing is executed twice, known results
are kept, unknown results are reported as unknown, and the thread can be used at once."""

import json
import pathlib
import tempfile
import threading

import pytest

from harness.agents import ordering
from harness.http_service import HttpService
from harness.messages import texts
from harness.waiting import wait_until

_PARAMETERS = {"type": "object", "properties": {"item": {"type": "string"}}}


def _tool(shop, name, **other):
    return {
        "name": name,
        "method": "POST",
        "url": f"{shop.url}/{name}",
        "parameters": _PARAMETERS,
    } | other


class Shop(HttpService):
    """Counts its executed orders, and delays its answer where the test requires that."""

    def __init__(self):
        self.effects = []
        self.hold = None  # delays the next order of a held item "before" or "after" its effect
        self.held = threading.Event()
        self.release = threading.Event()
        super().__init__(self._answer)

    def _answer(self, _, path, body):
        item = json.loads(body)["item"]
        held = item.startswith("held")
        if held and self.hold == "before":
            self._wait()
            # The caller has disconnected: the order is dropped, as it would be in a queue.
            return 503, "text/plain", "too late"
        self.effects.append((path, item))
        if held and self.hold == "after":
            self._wait()
        return 200, "application/json", json.dumps({"ordered": item})

    def _wait(self):
        self.held.set()
        self.release.wait()


@pytest.fixture
def shop():
    service = Shop()
    yield service
    service.release.set()
    service.close()


def _asks(text, *calls):
    tool_calls = [
        {"name": name, "arguments": json.dumps({"item": item}), "id": f"call_{item}"}
        for name, item in calls
    ]
    match = {"userMessage": text}
    return [
        {"match": match | {"hasToolResult": True}, "response": {"content": "done"}},
        {"match": match, "response": {"toolCalls": tool_calls}},
    ]


@pytest.fixture
def serve(make_service, start_mock_provider, shop):
    def start(*calls, answer=None, fixtures=(), **model):
        """`answer` is another provider, which answers after the tools."""
        mock = start_mock_provider(
            [
                *fixtures,
                *_asks("order", *calls),
                {"match": {"userMessage": "go on"}, "response": {"content": "going on"}},
            ]
        )
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url} | model
        models = {"default": model}
        if answer is not None:
            models["answer"] = model | {"base_url": answer.base_url}
        tools = [_tool(shop, "order"), _tool(shop, "look", idempotent=True)]
        graph = {
            "nodes": [
                {"name": "MAIN", "type": "agent", "tool_node": "TOOLS"},
                {"name": "TOOLS", "type": "tools", "tools": tools},
                *([{"name": "ANSWER", "type": "agent", "model": "answer"}] if answer else []),
            ],
            "edges": [
                {"from": "START", "to": "MAIN"},
                {
                    "from": "MAIN",
                    "when": [{"tool_calls_pending": True, "to": "TOOLS"}],
                    "otherwise": "END",
                },
                {"from": "TOOLS", "to": "ANSWER" if answer else "MAIN"},
            ],
        }
        return make_service(
            {"agent": "graph.json:app", "models": models},
            files={"graph.json": json.dumps({"app": graph})},
            workers=1,
        ).start()

    return start


def _order(service, **config):
    """Starts a run on thread t whose answer is never read."""
    connection = service.connect()
    body = {
        "messages": [{"role": "user", "content": "order"}],
        "config": {"thread_id": "t", "run_id": "lost"} | config,
    }
    connection.request("POST", "/v1/graph/invoke", [], body)
    return connection


def _go_on(service):
    """Runs the next turn on the thread; returns the results of the calls of the lost run."""
    reply = service.invoke("go on", config={"thread_id": "t"})
    assert reply.status == 200, reply.text
    messages = reply.json()["data"]["messages"]
    assert texts(messages)[-1] == "going on"
    return {
        block["call_id"]: (block["output"], block["is_error"])
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_result"
    }


def _lost_run(service):
    return service.get("/v1/observability/t?run_id=lost").json()["data"]["run"]


def test_before_the_intent(serve, shop, gated_provider):
    """The model is still answering: no call has started."""
    service = serve(base_url=gated_provider.base_url)
    with _order(service):
        gated_provider.wait_for_waiting(1)
        service.kill_worker()
    gated_provider.open_gate()
    reply = service.invoke("go on", config={"thread_id": "t"})
    assert reply.status == 200 and shop.effects == []
    assert _lost_run(service)["status"] == "error"


@pytest.mark.parametrize(("hold", "effects"), [("before", 0), ("after", 1)])
def test_between_intent_and_result(serve, shop, hold, effects):
    """Killed before and after the effect: the worker cannot know which, and does not try again."""
    service = serve(("order", "held"))
    shop.hold = hold
    with _order(service):
        wait_until(shop.held.is_set, "the call is held")
        service.kill_worker()
    results = _go_on(service)
    assert list(results) == ["call_held"]
    output, failed = results["call_held"]
    assert failed and "whether it took effect is unknown" in output["error"]
    shop.release.set()
    assert len(shop.effects) == effects and len(shop.requests) == 1, "not repeated"
    assert _lost_run(service)["status"] == "error"


def test_some_calls_have_ended_and_another_has_not(serve, shop):
    """Calls that ended before the worker died keep their results. So many run at once; the next one begins
    when they have ended."""
    quick = [f"quick{index}" for index in range(64)]
    service = serve(*(("order", item) for item in [*quick, "held"]))
    shop.hold = "after"
    with _order(service):
        wait_until(shop.held.is_set, "the call is held")
        service.kill_worker()
    assert sorted(item for _, item in shop.effects) == sorted([*quick, "held"]), "each once"
    results = _go_on(service)
    output, failed = results.pop("call_held")
    assert failed and "unknown" in output["error"]
    assert results == {f"call_{item}": ({"ordered": item}, False) for item in quick}
    assert len(shop.effects) == len(quick) + 1, "not repeated"
    shop.release.set()


def test_after_the_result(serve, shop):
    """A worker that dies between two runs loses nothing."""
    service = serve(("order", "quick"))
    with _order(service) as connection:
        assert connection.read_head().status == 200
    service.kill_worker()
    assert _go_on(service)["call_quick"] == ({"ordered": "quick"}, False)
    assert shop.effects == [("/order", "quick")]


def test_while_the_model_hears_of_the_result(serve, shop, gated_provider):
    """The node's results are on disk before they are sent to the model."""
    service = serve(("order", "quick"), answer=gated_provider)
    with _order(service):
        gated_provider.wait_for_waiting(1)
        service.kill_worker()
    gated_provider.open_gate()
    reply = service.invoke("go on", config={"thread_id": "t"})
    blocks = [b for m in reply.json()["data"]["messages"] for b in m["content"]]
    [result] = [block for block in blocks if block["type"] == "tool_result"]
    assert result["output"] == {"ordered": "quick"} and not result["is_error"]
    assert shop.effects == [("/order", "quick")]


def test_every_moment_of_a_run(serve, shop):
    """Killed at arbitrary moments: nothing is ever executed twice."""
    attempts = range(6)
    # Each attempt orders items of its own: the shop may see an order of a killed worker late.
    calls = [_asks(f"try {n}", ("order", f"one{n}"), ("order", f"two{n}")) for n in attempts]
    service = serve(fixtures=sum(calls, []))
    for attempt in attempts:
        config = {"thread_id": f"t{attempt}"}
        connection = service.connect()
        body = {"messages": [{"role": "user", "content": f"try {attempt}"}], "config": config}
        connection.request("POST", "/v1/graph/invoke", [], body)
        own = (f"one{attempt}", f"two{attempt}")
        wait_until(lambda: sum(item in own for _, item in shop.effects) >= attempt % 3, "some effects")
        service.kill_worker()
        connection.close()
        reply = service.invoke("go on", config=config)
        assert reply.status == 200, reply.text
    items = [item for _, item in shop.effects]
    assert len(items) == len(set(items)), items


# A tool that is a C++ function of the graph


@pytest.fixture
def ledger():
    with tempfile.TemporaryDirectory(prefix="ledger-") as directory:
        path = pathlib.Path(directory)
        path.chmod(0o777)  # a worker may run as another user
        yield path


@pytest.fixture
def serve_function(make_service, start_mock_provider):
    def start():
        mock = start_mock_provider(
            [
                *_asks("order", ("order", "it")),
                {"match": {"userMessage": "go on"}, "response": {"content": "going on"}},
            ]
        )
        model = {"provider": "openai", "model": "m", "base_url": mock.base_url, "api_key": "k"}
        return make_service(ordering(models={"default": model}), workers=1).start()

    return start


def _effects(ledger):
    path = ledger / "effects"
    return path.read_text().split() if path.exists() else []


@pytest.mark.parametrize(("hold", "effects"), [("before", []), ("after", ["it"])])
def test_a_function_between_intent_and_result(serve_function, ledger, hold, effects):
    service = serve_function()
    with _order(service, directory=str(ledger), hold=hold):
        wait_until(lambda: (ledger / "held").exists(), "the function waits")
        service.kill_worker()
    output, failed = _go_on(service)["call_it"]
    assert failed and "whether it took effect is unknown" in output["error"]
    assert _effects(ledger) == effects, "not repeated"
    assert _lost_run(service)["status"] == "error"


def test_a_function_after_its_result(serve_function, ledger):
    service = serve_function()
    with _order(service, directory=str(ledger), hold="nowhere") as connection:
        assert connection.read_head().status == 200
    service.kill_worker()
    assert _go_on(service)["call_it"] == ({"ordered": "it"}, False)
    assert _effects(ledger) == ["it"]


def test_a_function_before_its_intent(make_service, ledger, gated_provider):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url}
    service = make_service(ordering(models={"default": model}), workers=1).start()
    with _order(service, directory=str(ledger), hold="nowhere"):
        gated_provider.wait_for_waiting(1)
        service.kill_worker()
    gated_provider.open_gate()
    assert service.invoke("go on", config={"thread_id": "t"}).status == 200
    assert _effects(ledger) == []
    assert _lost_run(service)["status"] == "error"
