"""Messages between a live session and its provider, which the test controls."""

import base64

from harness.certificate import self_signed
from harness.live import (
    OUTPUT_RATE,
    LiveClient,
    begin_session,
    speech,
    transcript,
    types,
    wait_for_messages,
)
from harness.messages import text_of
from harness.waiting import wait_until


def test_what_the_provider_is_told(start_service, live_provider):
    parameters = {"temperature": 0.5, "contextWindowCompression": {"triggerTokens": 1000}}
    service = start_service(live_provider.settings(parameters=parameters))
    client = LiveClient(service.port).start(
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
    client = LiveClient(service.port).start(vad={"enabled": False})
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
    client, connection = begin_session(service, live_provider)
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
    client, connection = begin_session(service, live_provider, thread_id="cut")
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
    texts = [text_of(m) for m in wait_for_messages(service, "cut", 3)]
    assert texts == ["tell me", "Once upon", " a time"]


def test_a_refused_handle_is_replaced_by_the_conversation(start_service, live_provider):
    service = start_service(live_provider.settings())
    first = LiveClient(service.port).start(thread_id="t")
    connection = live_provider.accept()
    connection.accept_setup()
    connection.give_handle("stale")
    connection.hear("my name is Ada")
    connection.say("Hello Ada")
    connection.complete_turn()
    first.read_turn()
    wait_for_messages(service, "t", 2)
    first.send_json({"type": "close"})
    first.read_to_end()
    second = LiveClient(service.port).start(thread_id="t")
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


def test_a_handle_of_another_provider_hides_no_conversation(start_service, live_provider):
    base_url = f"http://127.0.0.1:{live_provider.port}/v1"
    service = start_service(live_provider.settings(provider="openai", base_url=base_url))
    thread = {
        "messages": [{"role": "user", "content": "my name is Ada"}],
        "metadata": {"resumption_handle": "of-another"},
    }
    assert service.post("/v1/threads/t/messages", thread).status == 200
    client = LiveClient(service.port).start(thread_id="t")
    connection = live_provider.accept()
    connection.accept_session()
    item = connection.receive_type("conversation.item.create")["item"]
    assert item["content"] == [{"type": "input_text", "text": "my name is Ada"}]
    client.close()


def test_a_provider_that_refuses_the_key(start_service, live_provider):
    live_provider.refuse_with = 403
    service = start_service(live_provider.settings())
    client = LiveClient(service.port).start()
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"]) == ("provider_http_403", True), error
    assert client.closed_with == 1011
    assert live_provider.attempts == 1
    assert "secret-key" not in service.error_log.text()


def test_errors_of_the_provider_leave_the_session_open(start_service, live_provider):
    service = start_service(live_provider.settings())
    client, connection = begin_session(service, live_provider)
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
    service = start_service(live_provider.settings())
    client = LiveClient(service.port).start()
    for _ in range(6):
        connection = live_provider.accept()
        connection.accept_setup()
        connection.close(1007, "no")
    (error,) = client.read_to_end()
    assert (error["code"], error["fatal"], client.closed_with) == ("reconnect_failed", True, 1011)


def test_an_interruption_of_the_provider(start_service, live_provider):
    # The kernel's buffers stay small, so audio that the client does not read stays in the session.
    service = start_service(live_provider.settings(), listen="sndbuf=65536")
    client = LiveClient(service.port, receive_buffer=16384).start(thread_id="int")
    connection = live_provider.accept()
    connection.accept_setup()
    for word in ("one", " two", " three"):
        connection.say(word, b"\0" * 2 * OUTPUT_RATE * 20)
    client.read_to("output_transcript")
    connection.send({"serverContent": {"interrupted": True}})
    # A client that kept reading could have all the audio before the interruption arrives.
    (heard,) = wait_for_messages(service, "int", 1)
    assert text_of(heard) == "one"
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
    client = LiveClient(trusting.port).start()
    connection = live_provider.accept()
    connection.accept_setup()
    connection.say("secret")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "secret"
    # With an unknown certificate, nothing is sent to the server.
    distrusting = make_service(settings)
    distrusting.start()
    refused = LiveClient(distrusting.port).start()
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
    client = LiveClient(service.port).start(thread_id="openai", voice="marin")
    connection = live_provider.accept()
    assert connection.path == "/v1/realtime?model=gpt-realtime"
    assert connection.headers["Authorization"] == "Bearer secret-key"
    session = connection.accept_session()
    assert session["audio"]["output"]["voice"] == "marin"
    assert session["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 500
    client.say(speech(0.1))
    sent = connection.receive_type("input_audio_buffer.append")
    assert len(base64.b64decode(sent["audio"])) == OUTPUT_RATE // 10 * 2  # it needs 24 kHz
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
    # The user's transcript arrives late, and the user speaks again.
    said = {"item_id": "i1", "transcript": "Tell me"}
    connection.send({"type": "conversation.item.input_audio_transcription.completed"} | said)
    connection.send({"type": "input_audio_buffer.speech_started"})
    connection.send({"type": "response.done", "response": {"id": "r1", "status": "cancelled"}})
    client.read_to("interrupted")
    cut = connection.receive_type("conversation.item.truncate")
    assert cut["item_id"] == "a1" and 0 <= cut["audio_end_ms"] < 20_000
    user_words, answer = wait_for_messages(service, "openai", 2)
    assert (text_of(user_words), text_of(answer)) == ("Tell me", "Well,")
