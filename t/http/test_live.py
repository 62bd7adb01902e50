"""WS /v1/graph/live against a real nginx, with the demo model and a provider that the test plays."""

import base64
import json

import pytest

from harness.agents import user
from harness.certificate import self_signed
from harness.live import LIVE, OUTPUT_RATE, LiveClient, silence, speech, transcript, types
from harness.live_provider import LiveProvider
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.waiting import wait_until
from harness.websocket import BINARY, TEXT, WebSocket, close_frame, frame

_MIB = 1024 * 1024


@pytest.fixture
def live_provider():
    provider = LiveProvider()
    yield provider
    provider.close()


def _client(service):
    return LiveClient(service.port)


def _messages(service, thread_id, **other):
    reply = service.get(f"/v1/threads/{thread_id}/messages", **other)
    return reply.json()["data"]["messages"] if reply.status == 200 else []


def _wait_for_messages(service, thread_id, count):
    return wait_until(
        lambda: len(found := _messages(service, thread_id)) >= count and found,
        f"{count} messages are in the thread",
    )


def _refusal(service):
    """What `nginx -t` prints about a configuration it refuses."""
    service.error_log.allow(r"\[emerg\]")
    accepted, printed = service.test_configuration()
    assert not accepted
    return printed


def _text(message):
    return "".join(block.get("text", "") for block in message["content"])


# A conversation


@pytest.mark.parametrize("graph", ["live.json", "live.so"])
def test_speech_is_answered_with_speech_and_kept(start_service, graph):
    service = start_service(LIVE | {"agent": f"graphs/{graph}:app"})
    client = _client(service).start(thread_id="talk")
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
    user, answer = _messages(service, "talk")
    assert (user["role"], _text(user)) == ("user", "1.0 seconds of speech")
    assert user["metadata"]["modality"] == "audio"
    assert (answer["role"], _text(answer)) == ("assistant", "You said: 1.0 seconds of speech")
    assert answer["metadata"] == {"modality": "audio", "agent": "VOICE"}


def test_info_says_realtime(start_service):
    service = start_service(LIVE)
    data = service.get("/v1/graph").json()["data"]
    assert data["info"]["is_realtime"] is True
    assert {"source": "__start__", "target": "VOICE"}.items() <= data["edges"][0].items()


def test_text_and_tools(start_service):
    service = start_service(LIVE)
    client = _client(service).start(thread_id="tools", modalities=["TEXT"])
    client.type('call calculator {"expression": "6*7"}')
    events = client.read_turn()
    call, result = (next(e for e in events if e["type"] == t) for t in ("tool_call", "tool_result"))
    assert (call["name"], call["args"]) == ("calculator", {"expression": "6*7"})
    assert (result["id"], result["result"]) == (call["id"], {"result": 42})
    assert transcript(events) == "42"
    assert client.sound == b""
    messages = _wait_for_messages(service, "tools", 4)
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant"]
    assert "modality" not in messages[-1]["metadata"]  # it was not spoken
    client.send_json({"type": "close"})
    client.read_to_end()
    run = service.get("/v1/observability/tools").json()["data"]["run"]
    assert (run["status"], run["tool_calls"]) == ("done", 1)
    assert {"node: VOICE", "node: TOOLS"} <= {span["name"] for span in run["spans"]}


def test_tools_tags_choose_tools(start_service):
    service = start_service(LIVE | {"agent": "graphs/live.so:app"})
    knowing = _client(service).start(tools_tags=["clock", "other"], modalities="TEXT")
    knowing.type("call current_time")
    assert "tool_result" in types(knowing.read_turn())
    ignorant = _client(service).start(tools_tags=["other"], modalities="TEXT")
    ignorant.type("call current_time")
    assert transcript(ignorant.read_turn()) == "You said: call current_time"


def test_agents_hand_over(start_service):
    service = start_service(LIVE)
    client = _client(service).start(thread_id="over", modalities="TEXT")
    client.type('call transfer_to_agent {"agent": "EXPERT"}')
    events = client.read_turn()
    assert {"type": "agent_changed", "author": "EXPERT"} in events
    assert "tool_call" not in types(events)
    assert _wait_for_messages(service, "over", 2)[-1]["metadata"]["agent"] == "EXPERT"


def test_barge_in(start_service):
    service = start_service(LIVE)
    client = _client(service).start(thread_id="barge")
    story = "a long story with very many words " * 50  # a minute, of which little will be heard
    client.type(story)
    for _ in range(4):
        client.read_to("output_transcript")
    client.say(speech(0.5))
    events = client.read_to("interrupted")
    assert "turn_complete" not in types(events)
    assert events[-2] == {"type": "output_transcript", "text": "", "finished": True}
    heard = _wait_for_messages(service, "barge", 2)[1]
    assert heard["metadata"]["interrupted"] is True
    assert len(_text(heard)) < len(story) / 2
    client.say(silence(0.8))
    client.read_turn()


def test_without_detection_the_client_says_when_it_speaks(start_service):
    service = start_service(LIVE)
    client = _client(service).start(vad={"enabled": False}, modalities="TEXT")
    client.send_json({"type": "activity_start"})
    client.say(speech(0.5) + silence(1.0))
    client.send_json({"type": "activity_end"})
    assert transcript(client.read_turn(), "input") == "1.5 seconds of speech"


# The first frame


@pytest.mark.parametrize(
    "first", [frame(TEXT, "hello"), frame(TEXT, "[]"), frame(TEXT, '"{}"'), frame(BINARY, b"{}")]
)
def test_first_frame_must_be_a_json_object(start_service, first):
    service = start_service(LIVE)
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    socket.send(first)
    error = socket.read_json()
    assert (error["type"], error["code"], error["fatal"]) == ("error", "invalid_config", True)
    socket.is_closed_with(1003)


@pytest.mark.parametrize("modalities", [[], ["AUDIO", "TEXT"], ["VIDEO"], 5])
def test_unusable_modalities(start_service, modalities):
    service = start_service(LIVE)
    client = _client(service).start(modalities=modalities)
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"], client.closed_with) == ("invalid_config", True, 1003)


@pytest.mark.parametrize("init", [{}, {"modalities": "AUDIO"}, {"modalities": ["TEXT"]}, {"later": 1}])
def test_usable_first_frames(start_service, init):
    service = start_service(LIVE)
    client = _client(service).start(**init)
    client.type("hi")
    assert transcript(client.read_turn()) == "You said: hi"


@pytest.mark.parametrize("thread_id", [0, "-5", True, ["a"]])
def test_unusable_thread_ids(start_service, thread_id):
    service = start_service(LIVE)
    client = _client(service).start(thread_id=thread_id)
    (error,) = client.read_to_end()
    assert (error["code"], client.closed_with) == ("invalid_config", 1003)


def test_a_generated_thread_is_kept_and_not_told(start_service):
    service = start_service(LIVE)
    client = _client(service).start(thread_id=" ")
    client.type("hi")
    client.read_turn()
    (thread,) = service.get("/v1/threads").json()["data"]["threads"]
    assert thread["thread_id"] not in json.dumps(client.events)
    assert _text(_wait_for_messages(service, thread["thread_id"], 2)[1]) == "You said: hi"


# Which graph, whose thread


def test_other_graphs_are_not_live(start_service):
    service = start_service(LIVE | {"agent": "graphs/support.json:app"})
    socket = WebSocket(service.port).upgrade("/v1/graph/live")
    assert socket.read_json()["code"] == "not_live"
    socket.is_closed_with(1008)


def test_a_live_graph_is_not_served_elsewhere(start_service):
    service = start_service(LIVE)
    socket = WebSocket(service.port).upgrade("/v1/graph/ws")
    chunk = socket.read_json()
    assert chunk["event"] == "error" and "/v1/graph/live" in chunk["data"]["reason"]
    socket.is_closed_with(1008)
    for reply in (service.invoke("hi"), service.post("/v1/graph/stream", {"messages": [user("hi")]})):
        assert reply.status == 422 and "/v1/graph/live" in reply.json()["detail"]


def test_two_roots_are_refused(make_service):
    nodes = [{"name": name, "type": "live_agent"} for name in ("A", "B")]
    edges = [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}]
    graph = json.dumps({"app": {"nodes": nodes, "edges": edges}})
    service = make_service({"agent": "two.json:app"}, files={"two.json": graph})
    printed = _refusal(service)
    assert 'a graph has one live agent at its root: "A" and "B"' in printed


def test_a_live_agent_needs_a_realtime_model(make_service):
    model = {"provider": "anthropic", "model": "m", "base_url": "http://127.0.0.1:1", "api_key": "k"}
    service = make_service(LIVE | {"models": {"default": model}})
    printed = _refusal(service)
    assert "whose provider has no realtime API" in printed


def test_foreign_threads(start_service):
    settings = LIVE | {"auth": "jwt", "authorization": "ownership", "env": "secrets.env"}
    service = start_service(settings, files={"secrets.env": JWT_ENVIRONMENT})
    mine = dict(bearer("alice"))
    client = _client(service).start(headers=mine, thread_id="hers")
    client.type("hi")
    client.read_turn()
    client.send_json({"type": "close"})
    client.read_to_end()
    other = _client(service).start(headers=dict(bearer("bob")), thread_id="hers")
    (error,) = other.read_to_end()
    assert (error["code"], error["fatal"], other.closed_with) == ("not_authorized", True, 1008)


# Frames


def test_frames_without_meaning_are_ignored(start_service):
    service = start_service(LIVE)
    client = _client(service).start(modalities="TEXT")
    for text in ("", "{", "[]", "5", "null", '{"type": "image"}', '{"type": ["text"]}', '{"text": "x"}'):
        client.send(frame(TEXT, text))
    client.send(frame(BINARY, b""))
    client.send(frame(BINARY, b"x"))
    client.type("still there?")
    assert transcript(client.read_turn()) == "You said: still there?"


def test_frames_over_a_mebibyte_are_dropped(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start()
    connection = live_provider.accept()
    connection.accept_setup()
    client.send(frame(BINARY, b"\1" * _MIB))
    client.send(frame(BINARY, b"\2" * (_MIB + 2)))
    client.send(frame(TEXT, json.dumps({"type": "text", "text": "x" * _MIB})))
    client.send(frame(BINARY, b"\3" * 2))
    assert connection.received_sound() == b"\1" * _MIB
    assert connection.received_sound() == b"\3" * 2
    assert len(service.error_log.lines("more than 1048576 bytes was dropped")) == 2
    assert client.events == []


def test_a_text_of_a_mebibyte_is_answered(start_service):
    service = start_service(LIVE)
    client = _client(service).start(modalities="TEXT")
    text = json.dumps({"type": "text", "text": "x" * (_MIB - 28)})
    assert len(text) == _MIB
    for _ in range(2):
        client.send(frame(TEXT, text))
        assert types(client.read_turn())[-1] == "turn_complete"


def test_the_oldest_sound_goes_when_the_provider_stalls(start_service, live_provider):
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(live_provider.settings(), workers=1, server=status)
    # Made before: the provider may not keep the session waiting for long.
    flood = b"".join(frame(BINARY, i.to_bytes(2, "little") * 1600) for i in range(1001))
    client = _client(service).start()
    connection = live_provider.accept()
    connection.receive_until("setup")
    client.send(flood)
    client.type("last")
    wait_until(lambda: _dropped(service) >= 2, "two frames had to go")
    connection.send({"setupComplete": {}})
    assert connection.received_sound()[:2] == (2).to_bytes(2, "little")
    client.send_json({"type": "close"})
    for i in range(3, 1001):
        assert connection.received_sound()[:2] == i.to_bytes(2, "little")
    assert connection.receive_until("clientContent")["turns"][0]["parts"] == [{"text": "last"}]
    connection.say("bye")
    connection.complete_turn()
    events = client.read_to_end()
    assert transcript(events) == "bye"
    assert client.closed_with == 1000


def _dropped(service):
    status = service.get("/status.json").json()["services"][0]
    return status["live_drops"]["upstream"]


# The provider


def test_what_the_provider_is_told(start_service, live_provider):
    parameters = {"temperature": 0.5, "contextWindowCompression": {"triggerTokens": 1000}}
    service = start_service(live_provider.settings(parameters=parameters))
    client = _client(service).start(
        model="other", voice="Kore", system_prompt="Be kind.", vad={"silence_duration_ms": 250}
    )
    connection = live_provider.accept()
    assert connection.path.startswith("/ws/google.ai.generativelanguage.v1beta")
    assert connection.headers["x-goog-api-key"] == "secret-key"
    setup = connection.accept_setup()
    assert setup["model"] == "models/other"
    generation = setup["generationConfig"]
    assert generation["responseModalities"] == ["AUDIO"]
    assert generation["temperature"] == 0.5
    voice = generation["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]
    assert voice == {"voiceName": "Kore"}
    assert setup["systemInstruction"] == {"parts": [{"text": "Be kind."}]}
    detection = setup["realtimeInputConfig"]["automaticActivityDetection"]
    assert detection == {"silenceDurationMs": 250}
    assert setup["contextWindowCompression"] == {"slidingWindow": {}, "triggerTokens": 1000}
    assert setup["inputAudioTranscription"] == setup["outputAudioTranscription"] == {}
    names = [f["name"] for f in setup["tools"][0]["functionDeclarations"]]
    assert names == ["calculator", "current_time", "transfer_to_agent"]
    client.say(speech(0.1))
    assert connection.received_sound() == speech(0.1)
    client.type("and a text")
    content = connection.receive_until("clientContent")
    assert content == {
        "turns": [{"role": "user", "parts": [{"text": "and a text"}]}],
        "turnComplete": True,
    }


def test_the_client_tells_when_it_speaks(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start(vad={"enabled": False})
    connection = live_provider.accept()
    setup = connection.accept_setup()
    detection = setup["realtimeInputConfig"]["automaticActivityDetection"]
    assert detection == {"disabled": True, "silenceDurationMs": 500}
    client.send_json({"type": "activity_start"})
    client.say(speech(0.1))
    client.send_json({"type": "activity_end"})
    assert connection.receive_until("realtimeInput") == {"activityStart": {}}
    assert connection.received_sound() == speech(0.1)
    assert connection.receive_until("realtimeInput") == {"activityEnd": {}}


def test_tool_calls_while_sound_goes_on(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start()
    connection = live_provider.accept()
    connection.accept_setup()
    call = {"id": "c1", "name": "calculator", "args": {"expression": "1+1"}}
    connection.send({"toolCall": {"functionCalls": [call]}})
    response = connection.receive_until("toolResponse")
    assert response["functionResponses"] == [
        {"id": "c1", "name": "calculator", "response": {"result": 2}}
    ]
    unknown = {"id": "c2", "name": "format_disk", "args": {}}
    connection.send({"toolCall": {"functionCalls": [unknown]}})
    response = connection.receive_until("toolResponse")
    assert "no tool" in response["functionResponses"][0]["response"]["error"]
    connection.say("two", b"\0" * 480)
    connection.complete_turn()
    assert types(client.read_turn())[:4] == ["tool_call", "tool_result"] * 2


def test_a_cut_is_mended_with_the_handle(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start(thread_id="cut")
    connection = live_provider.accept()
    connection.accept_setup()
    connection.give_handle("handle-1")
    assert client.read_event() == {"type": "session_update", "resumption_handle": "handle-1"}
    connection.hear("tell me")
    connection.say("Once upon", b"\0" * 4800)
    client.read_to("output_transcript")
    connection.abort()
    assert types(client.read_turn())[-1] == "turn_complete"
    client.say(speech(0.1))
    again = live_provider.accept()
    assert again.accept_setup()["sessionResumption"] == {"handle": "handle-1"}
    assert again.received_sound() == speech(0.1)
    again.say(" a time", b"\0" * 4800)
    again.complete_turn()
    assert transcript(client.read_turn()) == " a time"
    texts = [_text(m) for m in _wait_for_messages(service, "cut", 3)]
    assert texts == ["tell me", "Once upon", " a time"]


def test_a_refused_handle_is_replaced_by_the_conversation(start_service, live_provider):
    service = start_service(live_provider.settings())
    first = _client(service).start(thread_id="t")
    connection = live_provider.accept()
    connection.accept_setup()
    connection.give_handle("stale")
    connection.hear("my name is Ada")
    connection.say("Hello Ada")
    connection.complete_turn()
    first.read_turn()
    _wait_for_messages(service, "t", 2)
    first.send_json({"type": "close"})
    first.read_to_end()
    second = _client(service).start(thread_id="t")
    connection = live_provider.accept()
    assert connection.receive_until("setup")["sessionResumption"] == {"handle": "stale"}
    connection.close(1007, "invalid handle")
    connection = live_provider.accept()
    assert connection.accept_setup()["sessionResumption"] == {}
    turns = connection.receive_until("clientContent")
    assert [turn["parts"][0]["text"] for turn in turns["turns"]] == ["my name is Ada", "Hello Ada"]
    assert turns["turnComplete"] is False
    connection.say("Ada.")
    connection.complete_turn()
    assert transcript(second.read_turn()) == "Ada."


def test_a_provider_that_refuses_the_key(start_service, live_provider):
    live_provider.refuse_with = 403
    service = start_service(live_provider.settings())
    client = _client(service).start()
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"]) == ("provider_http_403", True), error
    assert client.closed_with == 1011
    assert live_provider.attempts == 1
    assert "secret-key" not in service.error_log.text()


def test_errors_of_the_provider_leave_the_session_open(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start()
    connection = live_provider.accept()
    connection.accept_setup()
    connection.send({"error": {"code": 3, "message": "hm", "status": "INVALID_ARGUMENT"}})
    assert client.read_event() == {
        "type": "error",
        "code": "INVALID_ARGUMENT",
        "message": "hm",
        "fatal": False,
    }
    for nonsense in ({}, {"serverContent": 5}, {"toolCall": []}, {"unknown": {}}):
        connection.send(nonsense)
    connection.say("fine")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "fine"


def test_a_storm_of_closes_ends_the_session(start_service, live_provider):
    service = start_service(live_provider.settings(connect_timeout_ms=2000))
    client = _client(service).start()
    for _ in range(6):
        connection = live_provider.accept()
        connection.accept_setup()
        connection.close(1007, "no")
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"], client.closed_with) == ("reconnect_failed", True, 1011)


def test_an_interruption_of_the_provider(start_service, live_provider):
    # Neither kernel buffer grows: sound that the client does not read stays in the session.
    service = start_service(live_provider.settings(), listen="sndbuf=65536")
    client = LiveClient(service.port, receive_buffer=16384).start(thread_id="int")
    connection = live_provider.accept()
    connection.accept_setup()
    for word in ("one", " two", " three"):
        connection.say(word, b"\0" * 2 * OUTPUT_RATE * 20)
    client.read_to("output_transcript")
    connection.send({"serverContent": {"interrupted": True}})
    # A client that read on could have all the sound before the interruption arrives.
    (heard,) = _wait_for_messages(service, "int", 1)
    assert _text(heard) == "one"
    client.read_to("interrupted")
    assert len(client.sound) < 2 * OUTPUT_RATE * 60


def test_a_secure_provider(directory, make_service, live_provider, start_nginx):
    certificate, key = self_signed(directory)
    nginx = start_nginx(
        listen="ssl",
        server=f'ssl_certificate "{certificate}"; ssl_certificate_key "{key}"; location / {{'
        f" proxy_pass http://127.0.0.1:{live_provider.port}; proxy_http_version 1.1;"
        ' proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade"; }',
    )
    settings = live_provider.settings(base_url=f"https://127.0.0.1:{nginx.port}/v1beta")
    trusting = make_service(settings | {"env": ".env"})
    trusting.write(".env", f"SSL_CERT_FILE={certificate}\n")
    trusting.start()
    client = _client(trusting).start()
    connection = live_provider.accept()
    connection.accept_setup()
    connection.say("secret")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "secret"
    # Who does not know the certificate says nothing to that server.
    distrusting = make_service(settings)
    distrusting.start()
    refused = _client(distrusting).start()
    wait_until(
        lambda: distrusting.error_log.lines("no secure connection: certificate verify failed"),
        "the certificate is refused",
    )
    assert not live_provider.has_connection()
    refused.close()


def test_a_spoken_turn_with_openai(start_service, live_provider):
    base_url = f"http://127.0.0.1:{live_provider.port}/v1"
    settings = live_provider.settings(provider="openai", base_url=base_url, model="gpt-realtime")
    service = start_service(settings)
    client = _client(service).start(thread_id="openai", voice="marin")
    connection = live_provider.accept()
    assert connection.path == "/v1/realtime?model=gpt-realtime"
    assert connection.headers["Authorization"] == "Bearer secret-key"
    session = connection.accept_session()
    assert session["audio"]["output"]["voice"] == "marin"
    assert session["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 500
    client.say(speech(0.1))
    sent = connection.receive_type("input_audio_buffer.append")
    assert len(base64.b64decode(sent["audio"])) == OUTPUT_RATE // 10 * 2  # it wants 24 kHz
    for kind in ("speech_started", "speech_stopped", "committed"):
        connection.send({"type": f"input_audio_buffer.{kind}", "item_id": "i1"})
    connection.send({"type": "response.created", "response": {"id": "r1"}})
    piece = {"response_id": "r1", "item_id": "a1"}
    words = ["Well,", " that is", " a story"]
    for word in words:
        connection.send({"type": "response.output_audio_transcript.delta", "delta": word} | piece)
        sound = base64.b64encode(bytes(2 * OUTPUT_RATE * 20)).decode()
        connection.send({"type": "response.output_audio.delta", "delta": sound} | piece)
    while transcript(client.events) != "".join(words):
        client.read_event()
    # The words of the user come late, and he speaks again.
    said = {"item_id": "i1", "transcript": "Tell me"}
    connection.send({"type": "conversation.item.input_audio_transcription.completed"} | said)
    connection.send({"type": "input_audio_buffer.speech_started"})
    connection.send({"type": "response.done", "response": {"id": "r1", "status": "cancelled"}})
    client.read_to("interrupted")
    cut = connection.receive_type("conversation.item.truncate")
    assert cut["item_id"] == "a1" and 0 <= cut["audio_end_ms"] < 20_000
    user_words, answer = _wait_for_messages(service, "openai", 2)
    assert (_text(user_words), _text(answer)) == ("Tell me", "Well,")


# The end


def test_closing_waits_for_the_answer(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start(thread_id="drain")
    connection = live_provider.accept()
    connection.accept_setup()
    client.type("a question")
    client.send_json({"type": "close"})
    client.type("too late")
    connection.receive_until("clientContent")
    connection.say("the answer")
    connection.complete_turn()
    assert transcript(client.read_to_end()) == "the answer"
    assert client.closed_with == 1000


def test_closing_waits_for_half_a_minute_at_most(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = LiveClient(service.port, timeout=60).start(thread_id="late")
    connection = live_provider.accept()
    connection.accept_setup()
    client.type("a question that nobody answers")
    client.send_json({"type": "close"})
    assert client.read_to_end() == []
    assert client.closed_with == 1000
    assert [_text(m) for m in _messages(service, "late")] == ["a question that nobody answers"]


def test_a_client_that_goes_leaves_the_answer_in_the_thread(start_service, live_provider):
    service = start_service(live_provider.settings())
    client = _client(service).start(thread_id="gone")
    connection = live_provider.accept()
    connection.accept_setup()
    client.type("a question")
    client.send_json({"type": "close"})
    client.send(close_frame(1000))
    client.close()
    connection.receive_until("clientContent")
    connection.say("the answer")
    connection.complete_turn()
    assert [_text(m) for m in _wait_for_messages(service, "gone", 2)] == ["a question", "the answer"]


@pytest.mark.parametrize("signal_name", ["HUP", "QUIT"])
def test_a_leaving_worker_sends_clients_to_the_next(start_service, live_provider, signal_name):
    service = start_service(live_provider.settings())
    client = _client(service).start(thread_id="moving")
    connection = live_provider.accept()
    connection.accept_setup()
    client.type("a question")
    connection.receive_until("clientContent")
    service.reload() if signal_name == "HUP" else service.quit()
    connection.say("the answer", b"\0" * 480)
    connection.give_handle("h")
    connection.complete_turn()
    events = client.read_to_end()
    assert transcript(events) == "the answer"
    assert not [e for e in events if e["type"] == "error"]
    assert client.closed_with == 1001
    if signal_name == "QUIT":
        return
    back = _client(service).start(thread_id="moving")
    connection = live_provider.accept()
    assert connection.accept_setup()["sessionResumption"] == {"handle": "h"}
    connection.say("back")
    connection.complete_turn()
    assert transcript(back.read_turn()) == "back"


@pytest.mark.parametrize("told", [{}, {"resumption_handle": "h"}])
def test_a_killed_worker_costs_a_gap(start_service, live_provider, told):
    """The client comes back with its thread, and with the handle if it kept that."""
    service = start_service(live_provider.settings(), workers=1)
    client = _client(service).start(thread_id="killed")
    connection = live_provider.accept()
    connection.accept_setup()
    connection.give_handle("h")
    connection.hear("remember this")
    connection.say("I will")
    connection.complete_turn()
    client.read_turn()
    _wait_for_messages(service, "killed", 2)
    service.kill_worker()
    back = _client(service).start(thread_id="killed", **told)
    connection = live_provider.accept()
    assert connection.accept_setup()["sessionResumption"] == {"handle": "h"}
    connection.say("still here")
    connection.complete_turn()
    assert transcript(back.read_turn()) == "still here"
    texts = [_text(m) for m in _wait_for_messages(service, "killed", 3)]
    assert texts == ["remember this", "I will", "still here"]


def test_one_session_a_thread(start_service):
    service = start_service(LIVE | {"busy_thread": "reject"})
    client = _client(service).start(thread_id="busy", modalities="TEXT")
    client.type("hi")
    client.read_turn()
    state = service.get("/v1/threads/busy/state").json()["data"]["state"]
    assert state["execution_meta"]["is_running"] is True
    second = _client(service).start(thread_id="busy")
    (error,) = second.read_to_end()
    assert (error["code"], second.closed_with) == ("thread_busy", 1013)
    client.send_json({"type": "close"})
    client.read_to_end()
    third = _client(service).start(thread_id="busy", modalities="TEXT")
    third.type("free again")
    third.read_turn()


@pytest.mark.parametrize("config", [{}, {"cancel": True}])
def test_a_stop_ends_the_session(start_service, config):
    service = start_service(LIVE)
    client = _client(service).start(thread_id="stop", modalities="TEXT")
    client.type("hi")
    client.read_turn()
    reply = service.post("/v1/graph/stop", {"thread_id": "stop", "config": config})
    assert reply.json()["data"]["running"] is True
    error = client.read_to_end()[-1]
    assert (error["code"], error["fatal"], client.closed_with) == ("stopped", True, 1000)
    run = service.get("/v1/observability/stop").json()["data"]["run"]
    assert run["status"] == "stopped"
    state = service.get("/v1/threads/stop/state").json()["data"]["state"]
    assert state["execution_meta"]["stop_current_execution"] == "stopped"
    again = _client(service).start(thread_id="stop", modalities="TEXT")
    again.type("and again")
    again.read_turn()


def test_a_session_that_waits_for_its_thread_can_be_stopped(start_service):
    service = start_service(LIVE)
    first = _client(service).start(thread_id="one", modalities="TEXT")
    first.type("hi")
    first.read_turn()
    second = _client(service).start(thread_id="one", modalities="TEXT")

    def waiting():
        state = service.get("/v1/threads/one/state").json()["data"]["state"]
        return state["execution_meta"]["queued_runs"]

    (run_id,) = wait_until(waiting, "the second session waits")
    service.post("/v1/graph/stop", {"thread_id": "one", "run_id": run_id})
    (error,) = second.read_to_end()
    assert (error["code"], error["fatal"], second.closed_with) == ("stopped", True, 1000)
    first.type("still here")
    first.read_turn()


def test_sessions_beyond_the_bound_are_refused(start_service):
    service = start_service(LIVE | {"limits": {"live_sessions_max": 1}}, workers=1)
    first = _client(service).start(modalities="TEXT")
    first.type("hi")
    first.read_turn()
    second = _client(service).start()
    (error,) = second.read_to_end()
    assert (error["code"], error["fatal"]) == ("too_many_sessions", True)
    assert second.closed_with == 1013
    first.type("still here")
    first.read_turn()


def test_without_a_checkpointer(start_service):
    service = start_service(LIVE | {"checkpointer": "none"})
    client = _client(service).start(modalities="TEXT")
    client.type('call calculator {"expression": "2+3"}')
    assert transcript(client.read_turn()) == "5"
    client.read_to("session_update")
    client.send_json({"type": "close"})
    client.read_to_end()
    assert client.closed_with == 1000


def test_how_long_sound_stays_in_the_service(start_service, live_provider):
    status = "location = /status.json { agent_graph_status format=json; }"
    service = start_service(live_provider.settings(), workers=1, server=status)
    client = _client(service).start()
    connection = live_provider.accept()
    connection.accept_setup()

    def converse():
        client.say(b"\1" * 3200)
        connection.received_sound()
        connection.say("hello", b"\0" * 480)
        connection.complete_turn()
        client.read_turn()
        return True

    def ways():
        counts = service.get("/status.json").json()["services"][0]
        return counts["live_frames_forwarded"], counts["live_forward_seconds"]

    converse()
    wait_until(lambda: ways()[0] == {"upstream": 1, "downstream": 1}, "both ways are counted")
    # A frame may take less than the microsecond that is counted in.
    wait_until(lambda: converse() and min(ways()[1].values()) > 0, "both ways take time")
    assert set(ways()[1]) == {"upstream", "downstream"}
