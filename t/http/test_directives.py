"""The directives of nginx.conf: their places and rejected values."""

import os
import pwd
import subprocess

import pytest

from harness import environment, http1
from harness.agents import DEMO, behaviour
from harness.nginx import WORKER_USER

_JSON = '{"agent": "graphs/react.json:app"}'
_TWO = "    agent_graph_service two two.json state=state/two;\n"


def _graph(service, target):
    return http1.fetch(service.port, "GET", target)


@pytest.mark.parametrize(
    "location, served",
    [
        ("location /a/ { agent_graph test; if ($arg_x) { agent_graph_base_path /a/deep; } }",
         {"/a/ping": 200, "/a/deep/ping": 404, "/a/deep/ping?x=1": 200, "/a/ping?x=1": 404}),
        ("location /b/ { agent_graph_base_path /b/v; agent_graph test;"
         " if ($arg_two) { agent_graph two; } }",
         {"/b/v/v1/graph": 200, "/b/v/v1/graph?two=1": 200, "/b/v1/graph?two=1": 404}),
        ("location ~ ^/c/ { agent_graph_base_path /c; agent_graph test;"
         " if ($arg_two) { agent_graph two; } }",
         {"/c/v1/graph": 200, "/c/v1/graph?two=1": 200}),
        ("location /d/ { agent_graph test; limit_except GET { deny all; } }", {"/d/v1/graph": 200}),
        ("location /e/ { agent_graph_base_path /e/v; if ($arg_two) { agent_graph two; } }",
         {"/e/v/v1/graph?two=1": 200, "/e/v/v1/graph": 404}),
    ],
    ids=["path", "service", "regex", "limit_except", "service-only"],
)  # fmt: skip
def test_base_paths_in_a_condition(start_service, location, served):
    service = start_service(DEMO, http=_TWO, files={"two.json": _JSON}, prefix="/x/", server=location)
    assert {target: _graph(service, target).status for target in served} == served


def test_the_description_names_the_base_path_of_a_condition(start_service):
    location = "location /a/ { agent_graph test; if ($arg_x) { agent_graph_base_path /a/deep; } }"
    service = start_service(DEMO, prefix="/x/", server=location)
    for target, url in (("/a/openapi.json", "/a"), ("/a/deep/openapi.json?x=1", "/a/deep")):
        assert _graph(service, target).json()["servers"] == [{"url": url}]


def test_a_condition_in_a_location_without_a_prefix_needs_a_path(make_service):
    location = "location ~ ^/c/ { if ($arg_two) { agent_graph test; } }"
    printed = make_service(DEMO, prefix="/x/", server=location).refusal()
    assert "agent_graph_base_path" in printed


@pytest.mark.parametrize("first, second", [(0, 1), (1, 0)], ids=["before", "after"])
def test_off_leaves_the_handler_of_another_module(start_service, first, second):
    lines = ("agent_graph off;", "proxy_pass http://127.0.0.1:$server_port/backend;")
    service = start_service(
        DEMO,
        prefix="/x/",
        server=f"location /p {{ {lines[first]} {lines[second]} }}\n"
        'location /backend { return 200 "backend"; }\n'
        "location /q/ { agent_graph test; if ($arg_off) { agent_graph off; } }",
    )
    assert _graph(service, "/p").text == "backend"
    assert _graph(service, "/q/v1/graph").status == 200
    assert _graph(service, "/q/v1/graph?off=1").status == 404


@pytest.mark.parametrize(
    "fragment, words",
    [
        ({"location": "agent_graph_run_timeout 0;"}, ["agent_graph_run_timeout", "above 0"]),
        ({"location": "agent_graph_ws_close_timeout 0;"}, ["agent_graph_ws_close_timeout"]),
        ({"location": "agent_graph_json_max_size 0;"}, ["agent_graph_json_max_size", "above 0"]),
        ({"location": "agent_graph_ws_max_message 0;"}, ["agent_graph_ws_max_message"]),
        ({"location": "agent_graph_run_timeout abc;"}, ["agent_graph_run_timeout", '"abc"', "10m"]),
        ({"location": "agent_graph_ws_close_timeout 1y1;"}, ["agent_graph_ws_close_timeout", '"1y1"']),
        ({"http": "agent_graph_shutdown_jitter no;"}, ["agent_graph_shutdown_jitter", '"no"', "10m"]),
        ({"http": "agent_graph_exit_timeout -1;"}, ["agent_graph_exit_timeout", '"-1"', "10m"]),
        ({"http": "agent_graph_handover x;"}, ["agent_graph_handover", '"x"', "10m"]),
        ({"location": "agent_graph_json_max_size 5x;"}, ["agent_graph_json_max_size", '"5x"', "64k"]),
        ({"location": "agent_graph_ws_max_message 1t;"}, ["agent_graph_ws_max_message", '"1t"', "64k"]),
        ({"location": "agent_graph_on_abort maybe;"},
         ["agent_graph_on_abort", '"maybe"', "cancel, continue"]),
        ({"location": "agent_graph_buffers 1k 2k;"}, ["agent_graph_buffers", "1k 2k", "256k 64k"]),
        ({"location": "agent_graph_buffers 1k x;"}, ["agent_graph_buffers", "1k x", "256k 64k"]),
        ({"location": "agent_graph_ws_ping 0;"}, ["agent_graph_ws_ping", '"0"', "20s", "off"]),
        ({"location": "agent_graph_ws_ping 5s pong=1s;"}, ["agent_graph_ws_ping", "pong=1s", "timeout="]),
        ({"location": "agent_graph_ws_ping 5s timeout=x;"}, ["agent_graph_ws_ping", "timeout=x"]),
        ({"location": "agent_graph_base_path a;"}, ["agent_graph_base_path", '"a"', '"/"']),
        ({"location": "agent_graph_base_path /a/$arg_x;"},
         ["agent_graph_base_path", "/a/$arg_x", "variables"]),
        ({"location": "agent_graph_docs $document_root;"},
         ["agent_graph_docs", "$document_root", "variables"]),
        ({"location": "agent_graph_ui $document_root;"}, ["agent_graph_ui", "$document_root", "variables"]),
        ({"http": "agent_graph_service other service.json state=/var/lib/$hostname;"},
         ["agent_graph_service", "state=/var/lib/$hostname", "variables"]),
        ({"server": "location /s { agent_graph_status format=xml; }"},
         ["agent_graph_status", "format=xml", "prometheus"]),
        ({"server": "location /o/ { agent_graph nobody; }"}, ["agent_graph", '"nobody"']),
        ({"location": "agent_graph_on_abort cancel; agent_graph_on_abort cancel;"},
         ["agent_graph_on_abort", "duplicate"]),
        ({"service_options": "threads=0"}, ["agent_graph_service", "threads=0", "1 to 256"]),
        ({"service_options": "queue=no"}, ["agent_graph_service", "queue=no", "1 to 1000000"]),
        ({"service_options": "zone=z"}, ["agent_graph_service", "zone=z", "name:size"]),
        ({"service_options": "workers=2"}, ["agent_graph_service", "workers=2", "threads="]),
        ({"http": "agent_graph_service a/b service.json;"}, ["agent_graph_service", '"a/b"', "slash"]),
        ({"http": "agent_graph_service test service.json;"},
         ["agent_graph_service", '"test"', "is there twice"]),
        ({"service_options": "threads=1 threads=2"}, ["threads=2", "twice"]),
        ({"service_options": "queue=5 threads=1 queue=5"}, ["queue=5", "twice"]),
        ({"service_options": "state=elsewhere"}, ["state=elsewhere", "twice"]),
    ],
    ids=lambda value: " ".join(value.values()) if isinstance(value, dict) else "",
)  # fmt: skip
def test_what_is_refused_is_named(make_service, fragment, words):
    printed = make_service(DEMO, **fragment).refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    for word in words:
        assert word in line


@pytest.mark.one_host("each host logs it once")
def test_subrequests_are_refused_and_told_once(start_service):
    service = start_service(
        DEMO,
        workers=1,
        server="location /mirrored/ { mirror /v1/graph; agent_graph test; }\n"
        "location = /v1/graph { internal; agent_graph test; agent_graph_base_path /; }",
    )
    for _ in range(3):
        assert _graph(service, "/mirrored/v1/graph").status == 200
    service.quit()
    service.wait_until_gone()
    assert len(service.error_log.lines("subrequests")) == 1
    assert service.error_log.lines(r"\[warn\].*subrequests")


# Requests that nginx rejects before it knows the location


def _error_pages():
    """Returns the lines of the shipped nginx.conf from the comment "What nginx refuses" to the
    location."""
    text = (environment.ROOT / "conf" / "nginx.conf").read_text()
    return text[text.index("        # What nginx refuses") : text.index("        location / {")]


@pytest.mark.parametrize(
    "request_bytes, status",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 40_000 + b"\r\n\r\n", 400),
        (b"GET /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 414),
        (b"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: nonsense\r\n\r\n", 501),
        (b"GET / HTTP/3.0\r\nHost: h\r\n\r\n", 505),
    ],
    ids=["no-host", "head", "uri", "trace", "encoding", "version"],
)
def test_errors_without_a_location_are_json(start_service, request_bytes, status):
    service = start_service(DEMO, server=_error_pages())
    with service.connect() as connection:
        connection.send(request_bytes)
        reply = connection.read_reply()
    assert reply.status == status
    assert reply.header("Content-Type") == "application/json"
    body = reply.json()
    assert body["detail"] == body["error"]["message"] and body["metadata"]["request_id"]
    code = "METHOD_NOT_ALLOWED" if status == 405 else "BAD_REQUEST"
    assert body["error"]["code"] == code
    assert bool(reply.header("Allow")) == (status == 405)


# State directories


@pytest.fixture
def mount_read_only():
    mounted = []

    def mount(directory):
        owner = directory.stat().st_uid
        command = ["mount", "-t", "tmpfs", "-o", f"ro,mode=0700,uid={owner}", "none", directory]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"needs the right to mount: {done.stderr.strip()}")
        mounted.append(directory)

    yield mount
    for directory in mounted:
        subprocess.run(["umount", "-l", directory], check=True)


_STORING = behaviour("echo", store="leveldb", embedding="hash")


def _make_folder(path):
    path.mkdir(mode=0o700, parents=True)
    if os.getuid() == 0:
        workers = pwd.getpwnam(WORKER_USER)
        os.chown(path, workers.pw_uid, workers.pw_gid)
    return path


def _state_refusal(service):
    printed = service.refusal()
    (line,) = [line for line in printed.splitlines() if "[emerg]" in line]
    return line


@pytest.mark.parametrize("folder", ["", "db"])
@pytest.mark.parametrize("mode", [0o500, 0o600])
def test_a_state_directory_that_takes_no_writes_is_refused(make_service, folder, mode):
    service = make_service(_STORING)
    state = _make_folder(service.directory / "state" / "test")
    _make_folder(state / "db")
    (state / folder).chmod(mode)
    line = _state_refusal(service)
    (state / folder).chmod(0o700)
    assert str(state / folder) in line and "is not writable" in line


def test_a_state_directory_on_a_read_only_disk_is_refused(make_service, mount_read_only):
    service = make_service(_STORING)
    state = _make_folder(service.directory / "state" / "test")
    mount_read_only(state)
    line = _state_refusal(service)
    assert str(state) in line and "Read-only file system" in line


@pytest.mark.needs_root
@pytest.mark.skipif(os.getuid() != 0, reason="makes files of another user")
@pytest.mark.parametrize("entry", ["db", "owner.lock"])
def test_entries_of_another_user_in_the_state_directory_are_refused(make_service, entry):
    service = make_service(_STORING)
    state = _make_folder(service.directory / "state" / "test")
    if entry == "db":
        (state / entry).mkdir(mode=0o700)
    else:
        (state / entry).touch(mode=0o600)
    os.chown(state / entry, 12345, 12345)
    line = _state_refusal(service)
    assert str(state / entry) in line and "belongs to another user" in line
