"""Request bodies in nginx's temporary files: no descriptor stays open during the run, which may be
long."""

import json

import pytest

from harness import processes
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer

_BODY = json.dumps(invocation("x" * 200_000)).encode()
_SINK = """
        location = /copy { internal; proxy_pass http://127.0.0.1:$server_port/sink; }
        location = /sink { client_max_body_size 64m; return 204; }
"""


def _body_files(service):
    """Returns the worker's descriptors of files in client_body_temp_path, which are already
    deleted."""
    worker = service.only_worker()
    return [name for name in processes.open_files(worker.pid) if "/temp/body/" in name]


def _chunked(body):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize("auth", [None, "jwt"])  # reads the body after authentication
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    "location, left",
    [
        ("", 0),
        ("client_body_in_single_buffer on;", 0),
        # nginx reads the file again after the run.
        ("post_action /copy;", 1),
    ],
)
def test_no_descriptor_of_a_body_is_open_during_the_run(
    start_service, gated_provider, auth, chunked, location, left
):
    model = {"provider": "openai", "model": "m", "base_url": gated_provider.base_url, "api_key": "k"}
    service = start_service(
        {"agent": "graphs/support.json:app", "models": {"default": model}, "auth": auth,
         "env": "secrets.env"},
        files={"secrets.env": JWT_ENVIRONMENT},
        location="client_body_buffer_size 16k; " + location,
        server=_SINK,
        workers=1,
    )  # fmt: skip
    headers = bearer("anna") + [("Content-Type", "application/json")]
    if chunked:
        headers.append(("Transfer-Encoding", "chunked"))
    connections = [service.connect() for _ in range(3)]
    for connection in connections:
        connection.request("POST", "/v1/graph/invoke", headers, _chunked(_BODY) if chunked else _BODY)
    gated_provider.wait_for_waiting(3)
    assert len(_body_files(service)) == 3 * left
    gated_provider.open_gate()
    for connection in connections:
        reply = connection.read_reply()
        assert reply.status == 200, reply.text
