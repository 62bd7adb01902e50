"""The text that a function streams, when its worker dies: the next attempt calls the function again, and
readers learn which message is void."""

from harness.agents import behaviour
from harness.messages import text_of
from harness.run_stream import Reader, RunStream
from harness.service import invocation

_PATH = "/v1/threads/t/runs/r/stream"


def test_the_reset_names_the_message(make_service, directory):
    service = make_service(behaviour("streaming_slowly"), workers=2).start()
    gate = directory / "gate"
    body = invocation(str(gate), config={"thread_id": "t", "run_id": "r"})
    assert service.post("/v1/graph/runs", body).status == 202
    reader = Reader()
    with RunStream(service.port, _PATH) as stream:
        piece = stream.read()
        assert text_of(piece.message) == "begun, "
        service.kill_workers()
        reader.take(stream.events)
    gate.touch()
    with RunStream(service.port, _PATH, after=reader.position) as stream:
        assert stream.read_to_end()
        (reset,) = [event for event in stream.events if (event.chunk["data"] or {}).get("reset")]
        assert reset.chunk["data"]["reset"] == piece.message["message_id"]
        reader.take(stream.events)
    reader.check("begun, ended")
    assert reader.resets == 1
