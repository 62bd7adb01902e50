"""Tests of the harness itself with an nginx without the module."""

import socket

import pytest

from harness import environment, http1, http2, processes
from harness.http_service import HttpService
from harness.ports import free_port
from harness.stream import Stream
from harness.waiting import wait_until

_OK = "        location / { return 200 'fine'; }"


def _proxy(provider):
    return (
        f"        location / {{ proxy_pass http://127.0.0.1:{provider.port}; proxy_buffering off;"
        " proxy_http_version 1.1; proxy_read_timeout 60s; }"
    )


def test_start_reload_and_quit(start_nginx):
    nginx = start_nginx(server=_OK)
    assert http1.fetch(nginx.port, "GET", "/").text == "fine"
    before = {worker.pid for worker in nginx.workers()}
    after = nginx.reload()
    assert len(after) == 2 and not before & after
    nginx.quit()
    nginx.wait_until_gone()


def test_refused_reload_leaves_the_old_workers(start_nginx):
    nginx = start_nginx(server=_OK)
    workers = nginx.workers()
    nginx.error_log.allow(r'unknown directive "nonsense"')
    nginx.configure(nginx.configuration.replace("return 200", "nonsense 200"))
    accepted, printed = nginx.test_configuration()
    assert not accepted and 'unknown directive "nonsense"' in printed
    assert len(nginx.refused_reload()) == 1
    assert nginx.workers() == workers
    assert http1.fetch(nginx.port, "GET", "/").status == 200


def test_killed_worker_is_replaced(start_nginx):
    nginx = start_nginx(server=_OK)
    victim = nginx.kill_worker()
    assert not processes.is_alive(victim)
    nginx.wait_for_workers(other_than=[victim])


def test_upgrade_and_orphans(start_nginx):
    nginx = start_nginx(server=_OK)
    old = nginx.master_pid
    new = nginx.upgrade()
    wait_until(lambda: not processes.is_alive(old), "the old master has gone")
    assert http1.fetch(nginx.port, "GET", "/").status == 200
    nginx.kill(new)
    wait_until(lambda: not nginx.masters(), "the new master has gone")
    assert nginx.workers()
    for worker in nginx.workers():
        nginx.kill(worker.pid)
    nginx.wait_until_gone()


def test_forbidden_lines_are_found(start_nginx):
    nginx = start_nginx(server=_OK)
    log = nginx.directory / "logs" / "error.log"
    with log.open("a") as file:
        file.write("2026/01/01 00:00:00 [alert] 1#1: *3 open socket #8 left in connection 5\n")
        file.write("2026/01/01 00:00:00 [notice] 1#1: fine\n")
    assert len(nginx.error_log.forbidden_lines()) == 1
    nginx.error_log.allow("open socket #8")
    assert nginx.error_log.forbidden_lines() == []


def test_http1_client_splits_half_closes_and_pipelines(start_nginx):
    nginx = start_nginx(server=_OK)
    request = http1.request_bytes("GET", "/")
    with http1.Connection(nginx.port) as connection:
        connection.send_split(request + request)
        assert [connection.read_reply().text for _ in range(2)] == ["fine", "fine"]
        connection.half_close()
        assert connection.is_closed_by_server()


def test_http2_client(start_nginx):
    port = free_port()
    nginx = start_nginx(server=_OK, http2_port=port)
    assert nginx.port != port
    reply = http2.fetch(port, "GET", "/")
    assert (reply.status, reply.body, reply.version) == (200, b"fine", "HTTP/2")


def test_the_port_of_a_closed_server_goes_to_nobody_else():
    service = HttpService(lambda *_: (200, "text/plain", "fine"))
    port = int(service.url.rpartition(":")[2])
    assert http1.fetch(port, "GET", "/").text == "fine"
    service.close()
    with socket.socket() as other, pytest.raises(OSError, match="Address already in use"):
        other.bind(("127.0.0.1", port))
    with pytest.raises(ConnectionRefusedError):
        http1.fetch(port, "GET", "/")


def test_gated_provider_holds_streams_and_notices_aborts(start_nginx, gated_provider):
    nginx = start_nginx(server=_proxy(gated_provider))
    connections = []
    for _ in range(3):
        connection = http1.Connection(nginx.port)
        connection.request("POST", "/v1/chat/completions", body={"stream": True})
        connections.append(connection)
    gated_provider.wait_for_waiting(3)
    connections[0].reset()
    wait_until(lambda: gated_provider.aborted == 1, "the provider notices the abort")
    gated_provider.open_gate()
    for connection in connections[1:]:
        body = connection.read_reply().body
        assert body.endswith(b"data: [DONE]\n\n") and b"three" in body
        connection.close()


def test_stream_reader_tells_whole_from_cut(start_nginx):
    nginx = start_nginx(
        server="        location /whole { return 200 '{\"event\":\"a\"}\\n{\"event\":\"done\"}\\n'; }"
    )
    stream = Stream(nginx.port, "/whole", {})
    assert stream.read_until_event("done") == {"event": "done"}
    assert stream.is_whole() and len(stream.lines) == 2
    assert stream.lines[0].arrived <= stream.lines[1].arrived


@pytest.fixture
def greeting(start_mock_provider):
    return start_mock_provider(
        [{"match": {"userMessage": "hello"}, "response": {"content": "Hello there"}}], chunk_size=2
    )


def test_mock_provider_answers_and_keeps_a_journal(greeting):
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "hello"}]}
    assert greeting.program.is_relative_to(environment.NODE_MODULES)
    reply = http1.fetch(greeting.port, "POST", "/v1/chat/completions", body=body)
    assert reply.status == 200 and reply.text.rstrip().endswith("data: [DONE]")
    assert len(greeting.requests()) == 1
    greeting.set_chaos(dropRate=1.0)
    assert http1.fetch(greeting.port, "POST", "/v1/chat/completions", body=body).status == 500
