"""Text of documents, and messages that refer to files."""

import base64
import json
import select
import shutil

import pytest

from harness import documents, environment
from harness.agents import behaviour
from harness.messages import texts
from harness.tokens import JWT_ENVIRONMENT, bearer
from harness.uploads import file_form, uploaded
from harness.waiting import wait_until
from harness.websocket import WebSocket

_ECHO = behaviour("echo")
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


@pytest.mark.parametrize(
    "data, filename, content_type",
    [
        (documents.pdf(), "a.pdf", "application/pdf"),
        (documents.docx(), "a.docx", _DOCX),
        (documents.docx(), "a.docx", "application/octet-stream"),
        (documents.pptx(), "a.pptx", None),
        (documents.xlsx(), "a.xlsx", None),
        (documents.odt(), "a.odt", None),
        (b"<html><body><p>Hello <b>document</b></p><script>no()</script></html>", "a.html", "text/html"),
        (b"<a><b>Hello document</b></a>", "a.xml", "application/xml"),
        (b"Hello document\n", "a.md", "text/markdown"),
        ("Hello document".encode("utf-16"), "a.txt", "text/plain; charset=utf-16"),
    ],
)
def test_text_is_extracted(start_service, data, filename, content_type):
    service = start_service(_ECHO)
    record = uploaded(service, data, filename, content_type)
    assert record["extracted_text"] == documents.TEXT
    info = service.get(record["url"] + "/info").json()["data"]
    assert info["extracted_text"] == documents.TEXT
    assert service.get(record["url"]).body == data


def test_other_text_formats_are_taken_as_they_are(start_service):
    service = start_service(_ECHO)
    for data, content_type in ((b'{"a": [1]}', "application/json"), (b"a,b\n1,2", "text/csv")):
        assert uploaded(service, data, "a", content_type)["extracted_text"] == data.decode()
    for data, content_type in ((b"\x89PNG", "image/png"), (b"x", "application/zip")):
        assert uploaded(service, data, "a", content_type)["extracted_text"] is None


def _bomb():
    """A small ZIP that unpacks to 200 MiB, as a document."""
    return documents.archive({"word/document.xml": b"<a>" + b" " * (200 * 1024 * 1024)})


@pytest.mark.parametrize(
    "data, filename",
    [
        (documents.pdf()[:200], "cut.pdf"),
        (b"%PDF-1.4 nothing", "a.pdf"),
        (b"not a zip", "a.docx"),
        (documents.archive({"other.xml": "x"}), "a.docx"),
        (documents.docx()[:-30], "a.docx"),
        (documents.docx("<broken"), "a.docx"),
        (b"\x00\x01\x02", "a.txt"),
        (b"<a><b></a>", "a.xml"),
    ],
)
def test_what_cannot_be_read_has_no_text(start_service, data, filename):
    service = start_service(_ECHO)
    record = uploaded(service, data, filename, None)
    assert record["extracted_text"] is None
    assert service.get(record["url"]).body == data
    assert service.get("/ping").status == 200


def test_a_zip_bomb_has_no_text(start_service):
    service = start_service(_ECHO)
    assert uploaded(service, _bomb(), "a.docx", None)["extracted_text"] is None


def _overtakes_slow_documents(service, users):
    """True if a small document is answered before any slow document of another user."""

    def sent_by(name, address):
        return [*(bearer(name) if users else ()), ("X-Real-IP", address)]

    def readers():
        return [one for one in service.processes() if one.title.startswith("pdftotext")]

    bombs = []
    for _ in range(4):
        connection = service.connect()
        headers, body = file_form(documents.endless_pdf(), "bomb.pdf", "application/pdf")
        connection.request("POST", "/v1/files/upload",
                           [*headers.items(), *sent_by("alice", "192.0.2.1")], body)
        bombs.append(connection)
    wait_until(lambda: len(readers()) >= 2, "two of them are being read", 60)
    record = uploaded(service, documents.pdf(), "a.pdf", None, headers=sent_by("bob", "192.0.2.2"))
    assert record["extracted_text"] == documents.TEXT
    answered = select.select([connection.socket for connection in bombs], [], [], 0)[0]
    for connection in bombs:
        connection.close()
    return not answered


@pytest.mark.timeout(400)
@pytest.mark.parametrize("users", [True, False])
def test_documents_that_take_long_delay_their_user_alone(start_service, users):
    settings = _ECHO | ({"auth": "jwt", "env": "env"} if users else {})
    # Reading is aborted after 15 seconds. On a loaded machine a small document may take longer;
    # then the order may be visible only in another attempt.
    for _ in range(4):
        service = start_service(settings, files={"env": JWT_ENVIRONMENT}, workers=1,
                                location="set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;")
        if _overtakes_slow_documents(service, users):
            return
        service.stop()
    pytest.fail("a document waits for those of another user")


def test_readers_of_documents_are_nobody_s_burden(start_service):
    service = start_service(_ECHO)
    for _ in range(3):
        uploaded(service, documents.pdf(), "a.pdf", None)
    service.stop()
    # The readers are in the session that this waits for.
    service.wait_until_gone()
    assert "exited" not in "".join(
        line for line in service.error_log.text().splitlines() if "unknown process" in line)


def test_documents_are_read_again_once_the_helper_process_is_back(start_service):
    service = start_service(_ECHO)
    assert uploaded(service, documents.pdf(), "a.pdf", None)["extracted_text"] == documents.TEXT
    helper = service.cache_manager()
    service.error_log.allow(rf"cache manager process {helper.pid} exited on signal 9")
    service.kill(helper.pid)
    assert uploaded(service, documents.pdf(), "a.pdf", None)["extracted_text"] == documents.TEXT


@pytest.mark.skipif(environment.MODULE is None, reason="nginx contains the module")
def test_a_module_without_its_reader_says_so(make_service, directory, monkeypatch):
    monkeypatch.setattr(environment, "MODULE", directory / "module.so")
    shutil.copy(environment.BUILD / "ngx_http_agent_graph_module.so", environment.MODULE)
    service = make_service(_ECHO, workers=1)
    accepted, printed = service.test_configuration()
    assert accepted and f"{directory}/agent-extract cannot be run: No such file" in printed
    service.start()
    for _ in range(2):
        assert uploaded(service, b"text", "a.txt", "text/plain")["extracted_text"] is None
    assert len(service.wait_for_log("without their text")) == 1
    service.write_settings(_ECHO | {"media": {"document_handling": "skip"}})
    accepted, printed = service.test_configuration()
    assert accepted and "agent-extract" not in printed


def _reference(record, kind="image", nested=False, **fields):
    if nested:
        return {"type": kind, "media": {"kind": "file_id", "file_id": record["file_id"]} | fields}
    return {"type": kind, "file_id": record["file_id"]} | fields


def _invoke(service, *blocks, headers=(), **fields):
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "see"}, *blocks]}]}
    return service.post("/v1/graph/invoke", body | fields, headers=headers)


def _seen(reply):
    assert reply.status == 200, reply.text
    return reply.json()["data"]["messages"][0]["content"][1:]


@pytest.mark.parametrize("nested", [False, True])
def test_a_reference_resolves_by_the_stored_type(start_service, nested):
    service = start_service(_ECHO)
    for stored, shown in (("image/png", "image"), ("AUDIO/MPEG; x=y", "audio"),
                          ("video/mp4", "video"), ("application/zip", "document")):
        record = uploaded(service, b"data", "a.bin", stored)
        for kind in ("image", "document"):
            (block,) = _seen(_invoke(service, _reference(record, kind, nested)))
            assert block["type"] == shown, (stored, kind)
            media = block["media"]
            assert (media["kind"], media["file_id"]) == ("file_id", record["file_id"])
            assert (media["mime_type"], media["filename"], media["size_bytes"]) == (stored, "a.bin", 4)


@pytest.mark.parametrize(
    "handling, good, corrupt",
    [("extract_text", "text", "document"), ("pass_raw", "document", "document"), ("skip", None, None)],
)
def test_document_handling(start_service, handling, good, corrupt):
    service = start_service(_ECHO | {"env": "env"}, files={"env": f"DOCUMENT_HANDLING={handling}\n"})
    for data, filename, shown in ((documents.pdf(), "a.pdf", good), (documents.docx(), "a.docx", good),
                                  (documents.pdf()[:100], "a.pdf", corrupt)):
        record = uploaded(service, data, filename, None)
        assert (record["extracted_text"] is not None) == (shown == "text")
        blocks = _seen(_invoke(service, _reference(record, "document")))
        assert [block["type"] for block in blocks] == ([shown] if shown else [])
        if shown == "text":
            assert blocks[0]["text"] == documents.TEXT
    image = uploaded(service, b"x", "a.png", "image/png")
    assert _seen(_invoke(service, _reference(image)))[0]["type"] == "image"


def test_an_unknown_file_is_404_before_the_run(start_service):
    service = start_service(_ECHO)
    for file_id in ("0" * 32, "nonsense", "../x"):
        reply = _invoke(service, {"type": "image", "file_id": file_id}, config={"thread_id": "t"})
        assert reply.status == 404 and "not found" in reply.json()["detail"]
        body = {"messages": [{"role": "user", "content": [{"type": "image", "file_id": file_id}]}],
                "config": {"thread_id": "t"}}
        stream = service.post("/v1/graph/stream", body)
        assert stream.status == 404 and stream.header("Content-Type") == "application/json"
        with WebSocket(service.port) as socket:
            socket.upgrade()
            socket.send_json(body)
            chunks = socket.read_run()
            assert chunks[0]["event"] == "error" and "not found" in chunks[0]["data"]["reason"]
            socket.send_json({"messages": [{"role": "user", "content": "hi"}]})
            assert socket.read_run()[0]["event"] == "message"
    assert service.get("/v1/threads/t").status == 404, "nothing was created"


def test_a_foreign_file_is_like_an_unknown_one(start_service):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    record = uploaded(service, b"x", "a.png", "image/png", headers=bearer("alice"))
    mine = _invoke(service, _reference(record), headers=bearer("alice"))
    assert _seen(mine)[0]["type"] == "image"

    def refusal(reference):
        reply = _invoke(service, reference, headers=bearer("bob"))
        body = reply.json()
        for key in ("request_id", "timestamp"):
            body["metadata"].pop(key)
        return reply.status, body

    foreign = refusal(_reference(record))
    assert foreign[0] == 404
    assert foreign == refusal({"type": "image", "file_id": "0" * 32})


def test_references_are_bounded(start_service):
    service = start_service(_ECHO)
    record = uploaded(service, b"x", "a.png", "image/png")
    assert _invoke(service, *[_reference(record)] * 64).status == 200
    assert _invoke(service, *[_reference(record)] * 65).status == 422


def _seeing(mock):
    return {
        "agent": "graphs/support.json:app",
        "models": {"default": {"provider": "openai", "model": "m", "api_key": "k",
                               "base_url": mock.base_url}},
    }


@pytest.mark.parametrize("user_id", [None, "alice", 42])
def test_a_model_is_shown_the_file(start_service, start_mock_provider, user_id):
    mock = start_mock_provider([{"match": {}, "response": {"content": "A cat."}}])
    settings = _seeing(mock)
    known = user_id is not None
    if known:
        settings |= {"auth": "jwt", "env": "env"}
    headers = bearer(user_id) if known else ()
    service = start_service(settings, files={"env": JWT_ENVIRONMENT})
    data = bytes(range(256)) * 40
    record = uploaded(service, data, "cat.png", "image/png", headers=headers)
    reply = _invoke(service, _reference(record), config={"thread_id": "t"}, headers=headers)
    assert texts(reply.json()["data"]["messages"])[-1] == "A cat."
    sent = json.dumps(mock.requests()[-1]["body"])
    assert "data:image/png;base64," + base64.b64encode(data).decode() in sent
    # The thread stores the reference, not the bytes; the next turn sends them again.
    stored = service.get("/v1/threads/t/messages", headers=headers).text
    assert record["file_id"] in stored and len(stored) < 5000
    assert _invoke(service, config={"thread_id": "t"}, headers=headers).status == 200
    assert base64.b64encode(data).decode() in json.dumps(mock.requests()[-1]["body"])


def test_a_model_is_shown_the_text_of_a_document_apart_from_the_question(
        start_service, start_mock_provider):
    mock = start_mock_provider([{"match": {}, "response": {"content": "Greetings."}}])
    service = start_service(_seeing(mock))
    record = uploaded(service, documents.pdf(), "a.pdf", None)
    body = {"messages": [{"role": "user", "content": [
        {"type": "text", "text": "Summarise this file"}, _reference(record, "document")]}]}
    assert service.post("/v1/graph/invoke", body).status == 200
    [request] = [entry["body"] for entry in mock.requests()
                 if entry["path"].endswith("/chat/completions")]
    assert request["messages"][-1]["content"] == [
        {"type": "text", "text": "Summarise this file"},
        {"type": "text", "text": documents.TEXT},
    ]


# Messages that enter a thread by other routes


def _post(service, messages, headers=()):
    return service.post("/v1/threads/t/messages", {"messages": messages}, headers=headers)


def _put(service, messages, headers=()):
    body = {"state": {"context": messages}}
    return service.request("PUT", "/v1/threads/t/state", body, headers=headers)


def _begin(service, messages, headers=()):
    return _invoke(service, headers=headers, initial_state={"context": messages},
                   config={"thread_id": "t"})


_WAYS = pytest.mark.parametrize("enter", [_post, _put, _begin])


def _with(*blocks, **fields):
    return {"role": "user", "content": [{"type": "text", "text": "see"}, *blocks]} | fields


def _context(service, headers=()):
    return service.get("/v1/threads/t/state", headers=headers).json()["data"]["state"]["context"]


@_WAYS
def test_a_model_is_shown_a_file_of_the_thread(start_service, start_mock_provider, enter):
    mock = start_mock_provider([{"match": {}, "response": {"content": "A cat."}}])
    service = start_service(_seeing(mock))
    data = bytes(range(256)) * 40
    image = uploaded(service, data, "cat.png", "image/png")
    document = uploaded(service, documents.docx(), "a.docx", None)
    reply = enter(service, [_with(_reference(image, "document"), _reference(document))])
    assert reply.status == 200, reply.text
    message = _context(service)[0]
    assert [block["type"] for block in message["content"]] == ["text", "image", "text"]
    assert message["content"][1]["media"]["size_bytes"] == len(data)
    assert message["content"][2]["text"] == documents.TEXT
    assert _invoke(service, config={"thread_id": "t"}).status == 200
    sent = json.dumps(mock.requests()[-1]["body"])
    assert "data:image/png;base64," + base64.b64encode(data).decode() in sent


@_WAYS
def test_an_unknown_or_foreign_file_enters_no_thread(start_service, enter):
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    record = uploaded(service, b"x", "a.png", "image/png", headers=bearer("alice"))
    for reference in ({"type": "image", "file_id": "0" * 32}, _reference(record)):
        reply = enter(service, [_with(reference, message_id="m")], bearer("bob"))
        assert reply.status == 404 and "not found" in reply.json()["detail"]
    assert service.get("/v1/threads/t", headers=bearer("bob")).status == 404
    assert enter(service, [_with(_reference(record))], bearer("alice")).status == 200


@_WAYS
def test_what_was_read_can_be_sent_back(start_service, enter):
    """Also if there are more files than a request may add, if one is deleted, or if all belong to
    another user."""
    service = start_service(_ECHO | {"auth": "jwt", "env": "env", "authorization": "allow_all"},
                            files={"env": JWT_ENVIRONMENT})
    record = uploaded(service, b"x", "a.png", "image/png", headers=bearer("alice"))
    for start in (0, 40):
        messages = [_with(_reference(record), message_id=f"m{start + i}") for i in range(40)]
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
    new = _with(_reference(record), message_id="new")
    assert enter(service, [*read, new], bearer("alice")).status == 404


def test_new_files_of_a_thread_are_bounded(start_service):
    service = start_service(_ECHO)
    record = uploaded(service, b"x", "a.png", "image/png")
    assert _put(service, [_with(*[_reference(record)] * 64)]).status == 200
    reply = _put(service, [_with(), _with(*[_reference(record)] * 65)])
    assert reply.status == 422
    [detail] = reply.json()["error"]["details"]
    assert detail["loc"] == ["body", "state", "context", "1", "content"]


_PLACES = {_post: ["messages"], _put: ["state", "context"], _begin: ["initial_state", "context"]}


@_WAYS
def test_a_message_is_bounded_with_the_texts_of_its_documents(start_service, enter):
    service = start_service(_ECHO)
    record = uploaded(service, b"words " * (512 * 1024 // 6), "a.txt", "text/plain")
    document = _reference(record, "document")
    reply = enter(service, [_with(), _with(*[document] * 64)])
    assert reply.status == 422, reply.text[:1000]
    [detail] = reply.json()["error"]["details"]
    assert detail["loc"] == ["body", *_PLACES[enter], "1"] and detail["type"] == "too_long"
    assert "at most 1048576 bytes" in detail["msg"]
    assert service.get("/v1/threads/t").status == 404, "nothing is stored"
    # The content of the message itself counts, too, and escaped quotes need more space.
    quotes = uploaded(service, b'"' * (500 * 1024), "b.txt", "text/plain")
    for blocks in ([document, {"type": "text", "text": "x" * 600_000}],
                   [_reference(quotes, "document"), {"type": "text", "text": "x" * 100_000}]):
        assert enter(service, [_with(*blocks)]).status == 422
    assert enter(service, [_with(document)]).status == 200
    assert len(_context(service)[0]["content"][1]["text"]) > 500_000


@_WAYS
def test_a_file_in_a_message_leaves_it_for_the_text_of_a_document(start_service, enter):
    service = start_service(_ECHO)
    record = uploaded(service, b"words " * (512 * 1024 // 6), "a.txt", "text/plain")
    inline = {"type": "image", "media": {"kind": "data", "mime_type": "image/png",
                                         "data_base64": base64.b64encode(bytes(500_000)).decode()}}
    assert enter(service, [_with(_reference(record, "document"), inline)]).status == 200
    kept = _context(service)[0]["content"]
    assert kept[2]["media"]["kind"] == "file_id" and len(json.dumps(kept)) < 1024 * 1024
