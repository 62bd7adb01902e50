"""A model provider with TLS that offers HTTP/2, or only HTTP/1.1: a real nginx before a provider with
gates, and Node."""

import concurrent.futures

import pytest

from harness.certificate import self_signed
from harness.connect_proxy import ConnectProxy
from harness.gated_provider import GatedProvider
from harness.http2_provider import NodeHttp2Provider
from harness.messages import texts
from harness.model_mock import KEY
from harness.waiting import wait_until

pytestmark = pytest.mark.one_host("each engine thread has connections of its own")

_ONE_THREAD = {"workers": 1, "service_options": "threads=1"}
_MANY_WORDS = tuple(f"word{n} " for n in range(200))


class _Provider:
    """nginx that offers HTTP/2 in front of `behind`; its log shows how it was called."""

    def __init__(self, start_nginx, directory, behind, *, listen="ssl http2", http=""):
        self.certificate, key = self_signed(directory)
        log = directory / "provider.log"
        log.touch(mode=0o666)
        log.chmod(0o666)
        self.nginx = start_nginx(
            listen=listen,
            http=f'log_format calls "$connection $server_protocol $status"; {http}',
            server=f'ssl_certificate "{self.certificate}"; ssl_certificate_key "{key}";'
            f" access_log {log} calls;"
            f" location / {{ proxy_pass http://127.0.0.1:{behind.port}; proxy_buffering off;"
            ' proxy_http_version 1.1; proxy_set_header Connection ""; }',
        )
        self._log = log
        self.base_url = f"https://127.0.0.1:{self.nginx.port}/v1"

    def calls(self):
        """(connection, protocol, status) of the calls that have ended."""
        return [tuple(line.split()) for line in self._log.read_text().splitlines()]


@pytest.fixture
def gated():
    provider = GatedProvider(words=_MANY_WORDS, before_gate=100)
    yield provider
    provider.close()


@pytest.fixture
def serve(make_service):
    """serve(provider, variables) starts the sample agent with it as its only model."""

    def start(provider, variables="", **model):
        model = {"provider": "openai", "model": "m", "base_url": provider.base_url, "api_key": KEY} | model
        service = make_service(
            {"agent": "graphs/support.json:app", "env": ".env", "models": {"default": model}}, **_ONE_THREAD
        )
        service.write(".env", f"SSL_CERT_FILE={provider.certificate}\n{variables}")
        return service.start()

    return start


def _wait_for_calls(provider, count):
    return wait_until(
        lambda: provider.calls() if len(provider.calls()) >= count else None, f"{count} calls are logged"
    )


def test_streams_share_a_connection(serve, start_nginx, directory, gated):
    provider = _Provider(start_nginx, directory, gated)
    service = serve(provider)
    streams = [service.stream("hello") for _ in range(50)]
    gated.wait_for_waiting(50)
    gated.open_gate()
    for stream in streams:
        assert stream.ended_with_done() and stream.final_text() == gated.text
    calls = _wait_for_calls(provider, 50)
    assert {(protocol, status) for _, protocol, status in calls} == {("HTTP/2.0", "200")}
    assert len({connection for connection, _, _ in calls}) == 1


def test_http1_where_http2_is_not_offered(serve, start_nginx, directory, gated):
    gated.open_gate()
    provider = _Provider(start_nginx, directory, gated, listen="ssl")
    service = serve(provider)
    for _ in range(3):
        assert texts(service.invoke("hello").json()["data"]["messages"])[-1] == gated.text
    calls = _wait_for_calls(provider, 3)
    assert {(protocol, status) for _, protocol, status in calls} == {("HTTP/1.1", "200")}
    assert len({connection for connection, _, _ in calls}) == 1


def test_the_operator_can_switch_it_off(serve, start_nginx, directory, gated):
    provider = _Provider(start_nginx, directory, gated)
    service = serve(provider, http2=False)
    streams = [service.stream("hello") for _ in range(5)]
    gated.wait_for_waiting(5)
    gated.open_gate()
    for stream in streams:
        assert stream.ended_with_done() and stream.final_text() == gated.text
    calls = _wait_for_calls(provider, 5)
    assert {(protocol, status) for _, protocol, status in calls} == {("HTTP/1.1", "200")}
    assert len({connection for connection, _, _ in calls}) == 5


def test_a_client_that_leaves_ends_only_its_stream(serve, start_nginx, directory, gated):
    provider = _Provider(start_nginx, directory, gated)
    service = serve(provider)
    streams = [service.stream("hello") for _ in range(20)]
    gated.wait_for_waiting(20)
    for stream in streams[:10]:
        stream.close()
    wait_until(lambda: gated.aborted == 10, "ten calls are aborted")
    gated.open_gate()
    for stream in streams[10:]:
        assert stream.ended_with_done() and stream.final_text() == gated.text
    assert len({connection for connection, _, _ in _wait_for_calls(provider, 20)}) == 1


def test_a_provider_that_takes_few_requests_on_a_connection(serve, start_nginx, directory, gated):
    """nginx ends a connection after so many requests, and refuses those that came later."""
    gated.open_gate()
    provider = _Provider(start_nginx, directory, gated, http="keepalive_requests 20;")
    service = serve(provider)
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        replies = list(pool.map(lambda _: service.invoke("hello"), range(200)))
    assert [reply.status for reply in replies] == [200] * 200
    assert {status for _, _, status in _wait_for_calls(provider, 200)} == {"200"}
    assert gated.finished == 200


def test_through_a_proxy(serve, start_nginx, directory, gated):
    gated.open_gate()
    provider = _Provider(start_nginx, directory, gated)
    with ConnectProxy(provider.nginx.port) as proxy:
        service = serve(provider, f"https_proxy=http://127.0.0.1:{proxy.port}\n")
        for _ in range(3):
            assert service.invoke("hello").status == 200
        assert proxy.asked == [f"127.0.0.1:{provider.nginx.port}"]
    assert {protocol for _, protocol, _ in _wait_for_calls(provider, 3)} == {"HTTP/2.0"}


@pytest.fixture
def on_node(directory):
    provider = NodeHttp2Provider(directory)
    yield provider
    provider.close()


@pytest.mark.parametrize("http2", [True, False])
def test_a_server_of_another_make(serve, on_node, http2):
    """Node's HTTP: a hundred streams at once, and clients that leave some of them."""
    service = serve(on_node, http2=http2)
    leaving = [service.stream("leave it open") for _ in range(20)]
    wait_until(lambda: on_node.count("request") == 20, "20 streams have begun")
    streams = [service.stream("hello") for _ in range(100)]
    for stream in leaving:
        stream.close()
    for stream in streams:
        assert stream.ended_with_done() and stream.final_text().split() == [f"word{n}" for n in range(200)]
    wait_until(lambda: on_node.count("reset") == 20, "Node sees that 20 streams were left")
    assert on_node.count("request") == 120
    if http2:
        assert on_node.count("connection") == 1
    else:  # a stream that begins after another has ended may take over its connection
        assert 20 < on_node.count("connection") <= 120


@pytest.mark.parametrize("http2", [True, False])
def test_a_megabyte_each_way_with_a_server_of_another_make(serve, on_node, http2):
    service = serve(on_node, http2=http2)
    reply = service.invoke("large " + "y" * 1_000_000)
    assert len(texts(reply.json()["data"]["messages"])[-1]) > 1_000_000
    assert service.invoke("hello").status == 200
    assert on_node.count("connection") == 1
