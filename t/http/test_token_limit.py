"""token_limit: the tokens that a user may use within a window of time."""

import pytest

from harness.agents import DEMO
from harness.redis import RedisServer
from harness.service import invocation
from harness.tokens import JWT_ENVIRONMENT, bearer

_GUARDED = DEMO | {"auth": "jwt", "env": "secrets.env", "authorization": "ownership"}
_FILES = {"secrets.env": JWT_ENVIRONMENT}


def _limit(tokens, **other):
    return {"token_limit": {"tokens": tokens, "window": 3600} | other}


def _ask(service, headers=()):
    # The model `demo` counts words: here at least four, with the answer.
    return service.post("/v1/graph/invoke", invocation("one two"), headers=headers)


def _ask_until_refused(service, headers=(), most=20):
    for answered in range(most):
        reply = _ask(service, headers)
        if reply.status != 200:
            return answered, reply
    raise AssertionError("no request was refused")


def test_each_user_has_tokens_of_their_own_in_all_workers(start_service):
    service = start_service(_GUARDED | _limit(20), files=_FILES, workers=3)
    alice, bob = bearer("alice"), bearer("bob")
    answered, refused = _ask_until_refused(service, alice)
    assert 1 <= answered <= 5
    assert refused.status == 402
    error = refused.json()["error"]
    assert error["code"] == "BUDGET_EXCEEDED"
    assert "the user has used up the 20 tokens of 3600 seconds" in error["message"]
    for _ in range(6):  # whichever worker
        assert _ask(service, alice).status == 402
    assert _ask(service, bob).status == 200


def test_a_refused_run_is_recorded_with_its_reason(start_service):
    service = start_service(DEMO | _limit(1))
    assert _ask(service).status == 200
    body = invocation("more", config={"thread_id": "t", "run_id": "r1"})
    assert service.post("/v1/graph/invoke", body).status == 402
    record = service.get("/v1/threads/t/runs/r1").json()["data"]
    assert (record["status"], record["reason"]) == ("error", "BUDGET_EXCEEDED")
    assert record["usage"]["model_calls"] == 0


def test_a_reload_keeps_the_count_and_a_new_window_begins_anew(start_service):
    service = start_service(DEMO | _limit(1))
    assert _ask(service).status == 200
    service.reload()
    assert _ask(service).status == 402
    service.write_settings(DEMO | _limit(1, window=7200))
    service.reload()
    assert _ask(service).status == 200


@pytest.fixture
def redis(directory):
    server = RedisServer(directory)
    yield server
    server.stop()


def test_hosts_share_the_tokens_in_redis(start_service, redis):
    settings = DEMO | _limit(1, backend="redis", redis=redis.url)
    first, second = start_service(settings), start_service(settings)
    assert _ask(first).status == 200
    assert _ask(second).status == 402
    assert _ask(first).status == 402


@pytest.mark.parametrize("fail_open", [True, False])
def test_without_redis(start_service, redis, fail_open):
    service = start_service(DEMO | _limit(20, backend="redis", redis=redis.url, fail_open=fail_open))
    redis.stop()
    reply = _ask(service)
    if fail_open:
        assert reply.status == 200
        return
    assert reply.status == 503 and reply.header("Retry-After") == "1"
    error = reply.json()["error"]
    assert error["code"] == "SERVICE_UNAVAILABLE"
    assert error["message"] == "the token limit cannot be checked now"


def test_wrong_settings_are_refused(make_service):
    service = make_service(DEMO | {"token_limit": {"window": 60}})
    assert "token_limit: needs tokens" in service.refusal()
