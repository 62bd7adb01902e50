"""Text of documents, and messages that refer to files."""

import base64
import json
import select
import shutil

import pytest

from harness import documents, environment
from harness.agents import behaviour
from harness.file_messages import invoke_with, reference_to, settings_of_model
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
@pytest.mark.one_host("each host logs it once")
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
            (block,) = _seen(invoke_with(service, reference_to(record, kind, nested)))
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
        blocks = _seen(invoke_with(service, reference_to(record, "document")))
        assert [block["type"] for block in blocks] == ([shown] if shown else [])
        if shown == "text":
            assert blocks[0]["text"] == documents.TEXT
    image = uploaded(service, b"x", "a.png", "image/png")
    assert _seen(invoke_with(service, reference_to(image)))[0]["type"] == "image"


def test_an_unknown_file_is_404_before_the_run(start_service):
    service = start_service(_ECHO)
    for file_id in ("0" * 32, "nonsense", "../x"):
        reply = invoke_with(service, {"type": "image", "file_id": file_id}, config={"thread_id": "t"})
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
    mine = invoke_with(service, reference_to(record), headers=bearer("alice"))
    assert _seen(mine)[0]["type"] == "image"

    def refusal(file_id):
        reply = invoke_with(service, {"type": "image", "file_id": file_id}, headers=bearer("bob"))
        body = reply.json()
        for key in ("request_id", "timestamp"):
            body["metadata"].pop(key)
        return reply.status, json.dumps(body).replace(file_id, "ID")

    foreign = refusal(record["file_id"])
    assert foreign[0] == 404
    assert foreign == refusal("0" * 32)


def test_references_are_bounded(start_service):
    service = start_service(_ECHO)
    record = uploaded(service, b"x", "a.png", "image/png")
    assert invoke_with(service, *[reference_to(record)] * 64).status == 200
    assert invoke_with(service, *[reference_to(record)] * 65).status == 422


@pytest.mark.parametrize("user_id", [None, "alice", 42])
def test_a_model_is_shown_the_file(start_service, start_mock_provider, user_id):
    mock = start_mock_provider([{"match": {}, "response": {"content": "A cat."}}])
    settings = settings_of_model(mock)
    known = user_id is not None
    if known:
        settings |= {"auth": "jwt", "env": "env"}
    headers = bearer(user_id) if known else ()
    service = start_service(settings, files={"env": JWT_ENVIRONMENT})
    data = bytes(range(256)) * 40
    record = uploaded(service, data, "cat.png", "image/png", headers=headers)
    reply = invoke_with(service, reference_to(record), config={"thread_id": "t"}, headers=headers)
    assert texts(reply.json()["data"]["messages"])[-1] == "A cat."
    sent = json.dumps(mock.requests()[-1]["body"])
    assert "data:image/png;base64," + base64.b64encode(data).decode() in sent
    # The thread stores the reference, not the bytes; the next turn sends them again.
    stored = service.get("/v1/threads/t/messages", headers=headers).text
    assert record["file_id"] in stored and len(stored) < 5000
    assert invoke_with(service, config={"thread_id": "t"}, headers=headers).status == 200
    assert base64.b64encode(data).decode() in json.dumps(mock.requests()[-1]["body"])


def test_a_model_is_shown_the_text_of_a_document_apart_from_the_question(
        start_service, start_mock_provider):
    mock = start_mock_provider([{"match": {}, "response": {"content": "Greetings."}}])
    service = start_service(settings_of_model(mock))
    record = uploaded(service, documents.pdf(), "a.pdf", None)
    body = {"messages": [{"role": "user", "content": [
        {"type": "text", "text": "Summarise this file"}, reference_to(record, "document")]}]}
    assert service.post("/v1/graph/invoke", body).status == 200
    [request] = [entry["body"] for entry in mock.chat_requests()]
    assert request["messages"][-1]["content"] == [
        {"type": "text", "text": "Summarise this file"},
        {"type": "text", "text": documents.TEXT},
    ]
