"""The stream of a run for the EventSource of browsers, which connects again by itself."""

import pytest

from harness.agents import DEMO
from harness.event_source import EventSource
from harness.gated_provider import GatedProvider
from harness.run_stream import Reader
from harness.service import invocation

_WORDS = tuple(f"word{number} " for number in range(12))


@pytest.fixture
def provider():
    gated = GatedProvider(words=_WORDS, before_gate=5)
    yield gated
    gated.close()


@pytest.mark.one_host("a worker of one host is killed")
def test_it_survives_a_cut_network_and_a_killed_worker(start_service, provider, link):
    models = {"default": {"provider": "openai", "model": "m", "base_url": provider.base_url}}
    service = start_service(DEMO | {"models": models}, workers=1)
    network = link(service)
    config = {"thread_id": "t", "run_id": "r"}
    assert service.post("/v1/graph/runs", invocation("hi", config=config)).status == 202
    with EventSource(f"http://127.0.0.1:{network.port}/v1/threads/t/runs/r/stream") as source:

        def is_fifth_word(line):
            return line["what"] == "event" and "word4 " in str(line["chunk"]["message"])

        source.read_until(is_fifth_word)
        network.cut()
        source.read_until(lambda line: line["what"] == "cut")
        source.read_until(lambda line: line["what"] == "open")
        provider.wait_for_waiting(1)
        service.kill_worker()
        source.read_until(lambda line: line["what"] == "cut")
        source.read_until(is_fifth_word)  # the second attempt's fifth word
        provider.open_gate()
        # After `done` it asks once more, and 204 ends that.
        source.read_until(lambda line: line["what"] == "closed")
        reader = Reader()
        reader.take(source.events)
    reader.check(provider.text)
    assert reader.resets == 1
    assert source.count("open") == 3


def test_it_stops_after_a_finished_run(start_service):
    service = start_service(DEMO)
    config = {"thread_id": "t", "run_id": "r"}
    service.post("/v1/graph/runs", invocation("hi", config=config))
    with EventSource(f"http://127.0.0.1:{service.port}/v1/threads/t/runs/r/stream") as source:
        source.read_until(lambda line: line["what"] == "closed")
        reader = Reader()
        reader.take(source.events)
    reader.check("You said: hi")
