"""Tools of live sessions and handover, with a provider that the test controls."""

import contextlib
import itertools
import json
import threading
import time

import pytest
import websockets

from harness.http_service import HttpService
from harness.live import LiveClient, begin_session, transcript, types, wait_for_messages
from harness.live_provider import LiveProvider
from harness.messages import texts
from harness.waiting import wait_until


def _graph(url="http://127.0.0.1:1", **expert):
    """Two agents that share an HTTP tool."""
    weather = {"name": "weather", "description": "Tells it.", "method": "GET", "url": f"{url}/weather"}
    voice = {"name": "VOICE", "type": "live_agent", "tool_node": "TOOLS", "sub_agents": ["EXPERT"]}
    expert = {"name": "EXPERT", "type": "live_agent", "tool_node": "TOOLS"} | expert
    tools = {"name": "TOOLS", "type": "tools", "tools": [weather]}
    edges = [{"from": "START", "to": "VOICE"}]
    return {"graph.json": json.dumps({"app": {"nodes": [voice, expert, tools], "edges": edges}})}


def _settings(server, **model):
    """`model` may select a provider other than Gemini."""
    if model.get("provider") == "openai":
        model["base_url"] = f"http://127.0.0.1:{server.port}/v1"
    return server.settings(**model) | {"agent": "graph.json:app"}


def _call_with_openai(connection, *calls):
    output = [
        {"type": "function_call", "call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
        for call_id, name, arguments in calls
    ]
    connection.send({"type": "response.created", "response": {"id": "r1"}})
    done = {"id": "r1", "status": "completed", "output": output}
    connection.send({"type": "response.done", "response": done})


def _assert_the_expert_answers(client, provider):
    """The next connection receives the last question, and the client receives its answer."""
    connection = provider.accept()
    connection.accept_setup()
    told = connection.receive_until("clientContent")
    assert told["turns"][-1]["parts"] == [{"text": "the expert, please"}]
    assert told["turnComplete"] is True
    connection.say("I am")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "I am"


def _call_with_gemini(connection, *calls):
    functions = [{"id": call_id, "name": name, "args": args} for call_id, name, args in calls]
    connection.send({"toolCall": {"functionCalls": functions}})


class SlowWeather(HttpService):
    """Answers after `answer` is set."""

    def __init__(self):
        self.answer = threading.Event()
        super().__init__(self._tell)

    def _tell(self, *_):
        self.answer.wait()
        return 200, "application/json", '{"degrees":20}'


@pytest.fixture
def slow_weather():
    weather = SlowWeather()
    yield weather
    weather.answer.set()
    weather.close()


_WEATHER = ("c1", "weather", {})
_TRANSFER = ("c2", "transfer_to_agent", {"agent": "EXPERT"})


def test_an_agent_with_another_model_speaks_through_that(start_service, live_provider):
    with contextlib.closing(LiveProvider()) as other:
        settings = _settings(live_provider, provider="openai")
        settings["models"]["clever"] = other.settings()["models"]["default"]
        service = start_service(settings, files=_graph(model="clever"))
        client = LiveClient(service.port).start()
        connection = live_provider.accept()
        connection.accept_session()
        client.type("the expert, please")
        connection.receive_type("response.create")
        _call_with_openai(connection, _TRANSFER)
        assert client.read_to("agent_changed")[-1]["author"] == "EXPERT"
        _assert_the_expert_answers(client, other)


def test_an_agent_with_another_model_is_told_words_that_come_late(start_service, live_provider):
    with contextlib.closing(LiveProvider()) as other:
        settings = _settings(live_provider, provider="openai")
        settings["models"]["clever"] = other.settings()["models"]["default"]
        service = start_service(settings, files=_graph(model="clever"))
        threads = (f"t{number}" for number in itertools.count())

        def is_told():
            """False if the machine was so slow that the words may have come after the two seconds that a
            handover waits for them."""
            thread_id = next(threads)
            client = LiveClient(service.port).start(thread_id=thread_id)
            connection = live_provider.accept()
            connection.accept_session()
            for kind in ("speech_started", "speech_stopped", "committed"):
                connection.send({"type": f"input_audio_buffer.{kind}"})
            called = time.monotonic()
            _call_with_openai(connection, _TRANSFER)
            client.read_to("agent_changed")
            said = {"item_id": "i1", "transcript": "the expert, please"}
            with contextlib.suppress(websockets.ConnectionClosed):
                connection.send({"type": "conversation.item.input_audio_transcription.completed"} | said)
            if time.monotonic() - called > 1:
                other.accept()
                client.close()
                return False
            _assert_the_expert_answers(client, other)
            assert texts(wait_for_messages(service, thread_id, 2)) == ["the expert, please", "I am"]
            return True

        wait_until(is_told, "the expert gets the words of the user")


def test_an_agent_with_another_model_keeps_that_and_its_voice(start_service, live_provider):
    with contextlib.closing(LiveProvider()) as other:
        settings = _settings(live_provider, provider="openai")
        settings["models"]["clever"] = other.settings()["models"]["default"]
        service = start_service(settings, files=_graph(model="clever", voice="Kore"))
        wishes = {"model": "gpt-realtime-mini", "voice": "marin", "modalities": "AUDIO"}
        client = LiveClient(service.port).start(**wishes)
        connection = live_provider.accept()
        assert connection.path.endswith("?model=gpt-realtime-mini")
        assert connection.accept_session()["audio"]["output"]["voice"] == "marin"
        _call_with_openai(connection, _TRANSFER)
        client.read_to("agent_changed")
        setup = other.accept().accept_setup()
        assert setup["model"] == "models/scripted"
        voice = setup["generationConfig"]["speechConfig"]["voiceConfig"]["prebuiltVoiceConfig"]
        assert voice == {"voiceName": "Kore"}


@pytest.fixture
def asked(start_service, live_provider, slow_weather):
    """A service and both ends of a session on thread t, whose model waits for the weather."""
    service = start_service(_settings(live_provider), files=_graph(slow_weather.url))
    client, connection = begin_session(service, live_provider, thread_id="t")
    client.type("how warm is it?")
    connection.receive_until("clientContent")
    _call_with_gemini(connection, _WEATHER)
    wait_until(lambda: slow_weather.requests, "the tool is called")
    return service, client, connection


def test_a_client_that_reads_gets_many_large_results(start_service, live_provider):
    """Results of one reply of the model come at once, more of them than may wait for long."""
    words = "w" * 60_000
    weather = HttpService(lambda *_: (200, "application/json", json.dumps({"words": words})))
    with contextlib.closing(weather):
        service = start_service(_settings(live_provider), files=_graph(weather.url))
        client, connection = begin_session(service, live_provider)
        _call_with_gemini(connection, *((f"c{n}", "weather", {}) for n in range(30)))
        for _ in range(30):
            assert client.read_to("tool_result")[-1]["result"] == {"result": {"words": words}}
        connection.say("Enough.")
        connection.complete_turn()
        assert transcript(client.read_turn()) == "Enough."


def test_a_tool_outlives_the_connection_that_called_it(asked, live_provider, slow_weather):
    _, client, connection = asked
    connection.abort()
    connection = live_provider.accept()
    connection.accept_setup()
    told = connection.receive_until("clientContent")
    assert told["turns"][-1]["parts"] == [{"text": "how warm is it?"}]
    assert told["turnComplete"] is False  # otherwise the model would call again
    client.send_json({"type": "close"})
    slow_weather.answer.set()
    told = connection.receive_until("clientContent")
    text = 'The tool weather, called with {}, returned {"degrees":20}'
    assert told == {"turns": [{"role": "user", "parts": [{"text": text}]}], "turnComplete": True}
    connection.say("Twenty degrees.")
    connection.complete_turn()
    events = client.read_to_end()
    assert types(events)[-4:] == ["tool_result"] + ["output_transcript"] * 2 + ["turn_complete"]
    assert transcript(events) == "Twenty degrees."
    assert len(slow_weather.requests) == 1


def test_a_hand_over_waits_for_a_tool_and_goes_on_in_place(
    start_service, live_provider, slow_weather
):
    settings = _settings(live_provider, provider="openai")
    service = start_service(settings, files=_graph(slow_weather.url))
    client = LiveClient(service.port).start()
    connection = live_provider.accept()
    connection.accept_session()
    client.type("the weather, and then the expert")
    connection.receive_type("response.create")
    _call_with_openai(connection, _WEATHER, _TRANSFER)
    client.read_to("tool_call")
    wait_until(lambda: slow_weather.requests, "the tool is called")
    assert connection.messages.empty()
    slow_weather.answer.set()
    assert types(client.read_to("agent_changed")) == ["tool_result", "agent_changed"]
    sent = [connection.receive() for _ in range(4)]
    assert [message["type"] for message in sent] == [
        "session.update",
        "conversation.item.create",
        "conversation.item.create",
        "response.create",
    ]
    replies = {m["item"]["call_id"]: json.loads(m["item"]["output"]) for m in sent[1:3]}
    assert replies == {"c1": {"degrees": 20}, "c2": {"result": "ok"}}


def test_a_hand_over_to_another_connection_takes_the_result_along(
    start_service, live_provider, slow_weather
):
    service = start_service(_settings(live_provider), files=_graph(slow_weather.url))
    client, connection = begin_session(service, live_provider)
    client.type("the weather, and then the expert")
    connection.receive_until("clientContent")
    _call_with_gemini(connection, _WEATHER, _TRANSFER)
    wait_until(lambda: slow_weather.requests, "the tool is called")
    assert not live_provider.has_connection()
    slow_weather.answer.set()
    connection = live_provider.accept()
    connection.accept_setup()
    told = connection.receive_until("clientContent")
    assert [turn["parts"][0]["text"] for turn in told["turns"]] == [
        "the weather, and then the expert",
        'The tool weather, called with {}, returned {"degrees":20}',
    ]
    assert told["turnComplete"] is True
    client.close()


def test_a_call_that_is_taken_back_is_not_waited_for(asked, slow_weather):
    _, client, connection = asked
    connection.send({"toolCallCancellation": {"ids": ["c1"]}})
    connection.send({"serverContent": {"interrupted": True}})
    connection.hear("never mind")
    connection.say("As you like.")
    connection.complete_turn()
    assert transcript(client.read_turn()) == "As you like."
    slow_weather.answer.set()
    assert client.read_to("tool_result")[-1]["id"] == "c1"
    client.send_json({"type": "close"})
    assert client.read_to_end() == []
    assert client.closed_with == 1000
    assert connection.receive() is None  # no reply either
