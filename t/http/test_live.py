"""WS /v1/graph/live against a real nginx with the demo model: conversations, and permission to hold
one."""

import json

import pytest

from harness.live import (
    LIVE,
    OUTPUT_RATE,
    LiveClient,
    messages_of,
    silence,
    speech,
    transcript,
    types,
    wait_for_messages,
)
from harness.messages import text_of, user
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.websocket import WebSocket


@pytest.mark.parametrize("graph", ["live.json", "live.so"])
def test_speech_is_answered_with_speech_and_kept(start_service, graph):
    service = start_service(LIVE | {"agent": f"graphs/{graph}:app"})
    client = LiveClient(service.port).start(thread_id="talk")
    client.say(silence(0.2) + speech(1.0) + silence(0.8))
    events = client.read_turn()
    assert transcript(events, "input") == "1.0 seconds of speech"
    assert transcript(events) == "You said: 1.0 seconds of speech"
    assert [e["finished"] for e in events if e["type"] == "output_transcript"].count(True) == 1
    assert [e["finished"] for e in events if e["type"] == "input_transcript"].count(True) == 1
    assert 0.5 * OUTPUT_RATE * 2 < len(client.sound) < 5 * OUTPUT_RATE * 2
    assert client.read_event() == {"type": "session_update", "resumption_handle": "demo:1"}
    thread = service.get("/v1/threads/talk").json()["data"]["thread_data"]
    assert thread["metadata"]["resumption_handle"] == "demo:1"
    client.send_json({"type": "close"})
    client.read_to_end()
    assert client.closed_with == 1000
    user, answer = messages_of(service, "talk")
    assert (user["role"], text_of(user)) == ("user", "1.0 seconds of speech")
    assert user["metadata"]["modality"] == "audio"
    assert (answer["role"], text_of(answer)) == ("assistant", "You said: 1.0 seconds of speech")
    assert answer["metadata"] == {"modality": "audio", "agent": "VOICE"}


def test_info_says_realtime(start_service):
    service = start_service(LIVE)
    data = service.get("/v1/graph").json()["data"]
    assert data["info"]["is_realtime"] is True
    assert {"source": "__start__", "target": "VOICE"}.items() <= data["edges"][0].items()


def test_text_and_tools(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id="tools", modalities=["TEXT"])
    client.type('call calculator {"expression": "6*7"}')
    events = client.read_turn()
    call, result = (next(e for e in events if e["type"] == t) for t in ("tool_call", "tool_result"))
    assert (call["name"], call["args"]) == ("calculator", {"expression": "6*7"})
    assert (result["id"], result["result"]) == (call["id"], {"result": 42})
    assert transcript(events) == "42"
    assert client.sound == b""
    messages = wait_for_messages(service, "tools", 4)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert "modality" not in messages[-1]["metadata"]  # it was typed
    client.send_json({"type": "close"})
    client.read_to_end()
    run = service.get("/v1/observability/tools").json()["data"]["run"]
    assert (run["status"], run["tool_calls"]) == ("done", 1)
    assert {"node: VOICE", "node: TOOLS"} <= {span["name"] for span in run["spans"]}


def test_tools_tags_choose_tools(start_service):
    service = start_service(LIVE | {"agent": "graphs/live.so:app"})
    knowing = LiveClient(service.port).start(tools_tags=["clock", "other"], modalities="TEXT")
    knowing.type("call current_time")
    assert "tool_result" in types(knowing.read_turn())
    ignorant = LiveClient(service.port).start(tools_tags=["other"], modalities="TEXT")
    ignorant.type("call current_time")
    assert transcript(ignorant.read_turn()) == "You said: call current_time"


def test_agents_hand_over(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id="over", modalities="TEXT")
    client.type('call transfer_to_agent {"agent": "EXPERT"}')
    events = client.read_turn()
    assert {"type": "agent_changed", "author": "EXPERT"} in events
    assert "tool_call" not in types(events)
    assert wait_for_messages(service, "over", 2)[-1]["metadata"]["agent"] == "EXPERT"


def test_barge_in(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(thread_id="barge")
    story = "a long story with very many words " * 50  # a minute of speech, mostly unplayed
    client.type(story)
    for _ in range(4):
        client.read_to("output_transcript")
    client.say(speech(0.5))
    events = client.read_to("interrupted")
    assert "turn_complete" not in types(events)
    assert events[-2] == {"type": "output_transcript", "text": "", "finished": True}
    heard = wait_for_messages(service, "barge", 2)[1]
    assert heard["metadata"]["interrupted"] is True
    assert len(text_of(heard)) < len(story) / 2
    client.say(silence(0.8))
    client.read_turn()


def test_without_detection_the_client_says_when_it_speaks(start_service):
    service = start_service(LIVE)
    client = LiveClient(service.port).start(vad={"enabled": False}, modalities="TEXT")
    client.send_json({"type": "activity_start"})
    client.say(speech(0.5) + silence(1.0))
    client.send_json({"type": "activity_end"})
    assert transcript(client.read_turn(), "input") == "1.5 seconds of speech"


def test_other_graphs_are_not_live(start_service):
    service = start_service(LIVE | {"agent": "graphs/support.json:app"})
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    assert socket.read_json()["code"] == "not_live"
    assert socket.agrees_to_close(1008)


def test_a_live_graph_is_not_served_elsewhere(start_service):
    service = start_service(LIVE)
    socket = WebSocket(service.port).upgrade("/v1/graph/ws")
    chunk = socket.read_json()
    assert chunk["event"] == "error" and "/v1/graph/live" in chunk["data"]["reason"]
    assert socket.agrees_to_close(1008)
    for reply in (service.invoke("hi"), service.post("/v1/graph/stream", {"messages": [user("hi")]})):
        assert reply.status == 422 and "/v1/graph/live" in reply.json()["detail"]


def test_two_roots_are_refused(make_service):
    nodes = [{"name": name, "type": "live_agent"} for name in ("A", "B")]
    edges = [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}]
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    service = make_service({"agent": "two.json:app"}, files={"two.json": graph})
    printed = service.refusal()
    assert 'a graph has one live agent at its root: "A" and "B"' in printed


def test_a_live_agent_needs_a_realtime_model(make_service):
    model = {"provider": "anthropic", "model": "m", "base_url": "http://127.0.0.1:1", "api_key": "k"}
    service = make_service(LIVE | {"models": {"default": model}})
    printed = service.refusal()
    assert "whose provider has no realtime API" in printed


def test_foreign_threads(start_service):
    settings = LIVE | {"auth": "jwt", "authorization": "ownership", "env": "secrets.env"}
    service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
    mine = dict(bearer("alice"))
    client = LiveClient(service.port).start(headers=mine, thread_id="hers")
    client.type("hi")
    client.read_turn()
    client.send_json({"type": "close"})
    client.read_to_end()
    other = LiveClient(service.port).start(headers=dict(bearer("bob")), thread_id="hers")
    (error,) = other.read_to_end()
    assert (error["code"], error["fatal"], other.closed_with) == ("not_authorized", True, 1008)
