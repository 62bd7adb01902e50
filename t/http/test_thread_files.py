"""Files and documents in the messages of threads, sent and stored."""

import base64
import json

import pytest

from harness import documents
from harness.agents import behaviour
from harness.file_messages import invoke_with, reference_to, settings_of_model
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import uploaded

_ECHO = behaviour("echo")


def _post(service, messages, headers=()):
    return service.post("/v1/threads/t/messages", {"messages": messages}, headers=headers)


def _put(service, messages, headers=()):
    body = {"state": {"context": messages}}
    return service.request("PUT", "/v1/threads/t/state", body, headers=headers)


def _begin(service, messages, headers=()):
    return invoke_with(service, headers=headers, initial_state={"context": messages},
                   config={"thread_id": "t"})


_WAYS = pytest.mark.parametrize("enter", [_post, _put, _begin])


def _with(*blocks, **fields):
    return {"role": "user", "content": [{"type": "text", "text": "see"}, *blocks]} | fields


def _context(service, headers=()):
    return service.get("/v1/threads/t/state", headers=headers).json()["data"]["state"]["context"]


@_WAYS
def test_a_model_is_shown_a_file_of_the_thread(start_service, start_mock_provider, enter):
    mock = start_mock_provider([{"match": {}, "response": {"content": "A cat."}}])
    service = start_service(settings_of_model(mock))
    data = bytes(range(256)) * 40
    image = uploaded(service, data, "cat.png", "image/png")
    document = uploaded(service, documents.docx(), "a.docx", None)
    reply = enter(service, [_with(reference_to(image, "document"), reference_to(document))])
    assert reply.status == 200, reply.text
    message = _context(service)[0]
    assert [block["type"] for block in message["content"]] == ["text", "image", "text"]
    assert message["content"][1]["media"]["size_bytes"] == len(data)
    assert message["content"][2]["text"] == documents.TEXT
    assert invoke_with(service, config={"thread_id": "t"}).status == 200
    sent = json.dumps(mock.requests()[-1]["body"])
    assert "data:image/png;base64," + base64.b64encode(data).decode() in sent


@_WAYS
def test_an_unknown_or_foreign_file_enters_no_thread(start_service, enter):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    record = uploaded(service, b"x", "a.png", "image/png", headers=bearer("alice"))
    for reference in ({"type": "image", "file_id": "0" * 32}, reference_to(record)):
        reply = enter(service, [_with(reference, message_id="m")], bearer("bob"))
        assert reply.status == 404 and reply.json()["detail"] == f"file not found: {reference['file_id']}"
    assert service.get("/v1/threads/t", headers=bearer("bob")).status == 404
    assert enter(service, [_with(reference_to(record))], bearer("alice")).status == 200


@pytest.mark.local_files
@_WAYS
def test_what_was_read_can_be_sent_back(start_service, enter):
    """Also if there are more files than a request may add, if one is deleted, or if all belong to
    another user."""
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    record = uploaded(service, b"x", "a.png", "image/png", headers=bearer("alice"))
    for start in (0, 40):
        messages = [_with(reference_to(record), message_id=f"m{start + i}") for i in range(40)]
        assert enter(service, messages, bearer("alice")).status == 200
    read = _context(service, bearer("alice"))
    assert sum(block["type"] == "image" for m in read for block in m["content"]) == 80
    uploads = service.directory / "state" / "test" / "uploads"
    for file in uploads.rglob(record["file_id"] + "*"):
        file.unlink()
    for user_id in ("alice", "bob"):
        reply = enter(service, read, bearer(user_id))
        assert reply.status == 200, reply.text
        assert _context(service, bearer(user_id))[: len(read)] == read
    new = _with(reference_to(record), message_id="new")
    assert enter(service, [*read, new], bearer("alice")).status == 404


def test_new_files_of_a_thread_are_bounded(start_service):
    service = start_service(_ECHO)
    record = uploaded(service, b"x", "a.png", "image/png")
    assert _put(service, [_with(*[reference_to(record)] * 64)]).status == 200
    reply = _put(service, [_with(), _with(*[reference_to(record)] * 65)])
    assert reply.status == 422
    [detail] = reply.json()["error"]["details"]
    assert detail["loc"] == ["body", "state", "context", "1", "content"]


_PLACES = {_post: ["messages"], _put: ["state", "context"], _begin: ["initial_state", "context"]}


@_WAYS
def test_a_message_is_bounded_with_the_texts_of_its_documents(start_service, enter):
    service = start_service(_ECHO)
    record = uploaded(service, b"words " * (512 * 1024 // 6), "a.txt", "text/plain")
    document = reference_to(record, "document")
    reply = enter(service, [_with(), _with(*[document] * 64)])
    assert reply.status == 422, reply.text[:1000]
    [detail] = reply.json()["error"]["details"]
    assert detail["loc"] == ["body", *_PLACES[enter], "1"] and detail["type"] == "too_long"
    assert "at most 1048576 bytes" in detail["msg"]
    assert service.get("/v1/threads/t").status == 404, "nothing is stored"
    # The content of the message itself counts, too, and escaped quotes need more space.
    quotes = uploaded(service, b'"' * (500 * 1024), "b.txt", "text/plain")
    for blocks in ([document, {"type": "text", "text": "x" * 600_000}],
                   [reference_to(quotes, "document"), {"type": "text", "text": "x" * 100_000}]):
        assert enter(service, [_with(*blocks)]).status == 422
    assert enter(service, [_with(document)]).status == 200
    assert len(_context(service)[0]["content"][1]["text"]) > 500_000


@_WAYS
def test_a_file_in_a_message_leaves_it_for_the_text_of_a_document(start_service, enter):
    service = start_service(_ECHO)
    record = uploaded(service, b"words " * (512 * 1024 // 6), "a.txt", "text/plain")
    inline = {"type": "image", "media": {"kind": "data", "mime_type": "image/png",
                                         "data_base64": base64.b64encode(bytes(500_000)).decode()}}
    assert enter(service, [_with(reference_to(record, "document"), inline)]).status == 200
    kept = _context(service)[0]["content"]
    assert kept[2]["media"]["kind"] == "file_id" and len(json.dumps(kept)) < 1024 * 1024
