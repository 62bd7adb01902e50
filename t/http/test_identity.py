"""Names and ids of threads and messages: id generators and generated names."""

import re

import pytest

from harness import environment
from harness.agents import DEMO
from harness.messages import user
from harness.service import invocation
from harness.stream import is_done
from harness.websocket import WebSocket

_NAMES = environment.BUILD / "t" / "graphs" / "thread_names.so"
_RANDOM = re.compile(r"[a-z]+-[a-z]+-[a-z]+")


def _data(reply):
    assert reply.status == 200, reply.text
    return reply.json()["data"]


# Ids

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


@pytest.mark.parametrize(
    "configured, name, kind, shape",
    [
        (None, "UUIDGenerator", "string", _UUID),
        ("uuid", "UUIDGenerator", "string", _UUID),
        ("integer", "IntegerIDGenerator", "integer", r"[0-9]{16}"),
        ("bigint", "BigIntIDGenerator", "bigint", r"[0-9]{19}"),
        ({"type": "snowflake", "node": 3}, "SnowFlakeIdGenerator", "bigint", r"[0-9]{18,19}"),
    ],
)
def test_ids(start_service, configured, name, kind, shape):
    settings = DEMO | ({"id_generator": configured} if configured else {})
    service = start_service(settings, workers=2)
    info = _data(service.get("/v1/graph"))["info"]
    assert (info["id_generator"], info["id_type"]) == (name, kind)
    threads, messages = set(), []
    for _ in range(8):  # on either worker
        data = _data(service.invoke("call current_time"))
        threads.add(data["meta"]["thread_id"])
        messages += [message["message_id"] for message in data["messages"]]
    thread = data["meta"]["thread_id"]
    added = {"messages": [user("by hand"), user("again")]}
    assert service.post(f"/v1/threads/{thread}/messages", added).status == 200
    stored = _data(service.get(f"/v1/threads/{thread}/messages"))["messages"]
    messages += [message["message_id"] for message in stored[-2:]]
    lines = service.stream("hello").read_all()
    messages += list({line["message"]["message_id"] for line in lines if line["message"]})
    assert len(threads) == 8 and len(messages) == len(set(messages))
    assert all(re.fullmatch(shape, each) for each in [*threads, *messages])


@pytest.mark.parametrize(
    "configured, reason",
    [
        ("serial", "id_generator"),
        ({"type": "snowflake", "node": 32}, "id_generator.node"),
        ({"kind": "uuid"}, "id_generator.kind"),
        ({"type": "snowflake", "epoch_ms": 4102444800000}, "id_generator.epoch_ms"),
    ],
)
def test_wrong_generators_are_refused(make_service, configured, reason):
    service = make_service(DEMO | {"id_generator": configured})
    assert reason in service.refusal()


# Names


def test_threads_have_no_name_by_default(start_service):
    service = start_service(DEMO)
    data = _data(service.invoke("hello"))
    assert data["meta"]["thread_name"] is None
    record = _data(service.get("/v1/threads/" + data["meta"]["thread_id"]))["thread_data"]
    assert record["thread_name"] is None


def test_random_names(start_service):
    service = start_service(DEMO | {"thread_name_generator": "random"})
    first = _data(service.invoke("hello", config={"thread_id": "t"}))["meta"]
    assert _RANDOM.fullmatch(first["thread_name"])
    for _ in range(3):  # it stays the same on either worker
        again = _data(service.invoke("hello", config={"thread_id": "t"}))["meta"]
        assert again["thread_name"] == first["thread_name"] and not again["is_new_thread"]
    record = _data(service.get("/v1/threads/t"))["thread_data"]
    assert record["thread_name"] == record["name"] == first["thread_name"]


@pytest.mark.parametrize("granularity", ["low", "full"])
def test_the_name_comes_with_the_last_chunk(start_service, granularity):
    service = start_service(DEMO | {"thread_name_generator": "random"})
    request = invocation("hi", config={"thread_id": "t"}, response_granularity=granularity)
    lines = service.post("/v1/graph/stream", request).lines()
    assert is_done(lines[-1])
    name = lines[-1]["metadata"]["thread_name"]
    assert _RANDOM.fullmatch(name)
    assert not any("thread_name" in line["metadata"] for line in lines[:-1])
    if granularity == "low":
        assert sum(line["event"] == "updates" for line in lines) == 1
    with WebSocket(service.port) as socket:
        socket.upgrade()
        socket.send_json(request)
        assert socket.read_run()[-1]["metadata"]["thread_name"] == name


def test_a_function_names_threads_by_their_texts(start_service):
    service = start_service(DEMO | {"thread_name_generator": f"{_NAMES}:counting"})
    meta = _data(service.invoke("hello"))["meta"]
    assert meta["thread_name"] == "2 texts, first: hello"
    listed = _data(service.get("/v1/threads"))["threads"]
    assert [thread["thread_name"] for thread in listed] == ["2 texts, first: hello"]


def test_a_function_that_fails_costs_the_name_only(start_service):
    service = start_service(DEMO | {"thread_name_generator": f"{_NAMES}:throwing"})
    assert _data(service.invoke("hello"))["meta"]["thread_name"] is None
    service.wait_for_log("no idea")


@pytest.mark.parametrize(
    "configured, reason",
    [
        ("funny", '"funny" is not one of random, <module>:<attribute>'),
        (f"{_NAMES}:missing", "AGENT_GRAPH_EXPORT_THREAD_NAMES(missing"),
        (5, "thread_name_generator: must be"),
    ],
)
def test_wrong_name_generators_are_refused(make_service, configured, reason):
    service = make_service(DEMO | {"thread_name_generator": configured})
    assert reason in service.refusal()
