"""GET /ready: 503 names the part that fails, and the answer never waits for it."""

import pytest

from harness import processes
from harness.agents import DEMO, behaviour
from harness.tokens import JWT_ENVIRONMENT
from harness.waiting import wait_until

_SECRETS = ("127.0.0.1", "sk-secret", "/state", "conf/")


def _wait_until_ready(service):
    return wait_until(lambda: (r := service.get("/ready")).status == 200 and r, "it is ready")


def _wait_for_failure(service, part):
    """Waits until this part fails, and only this; returns the answer."""

    def failing():
        reply = service.get("/ready")
        return reply.status == 503 and [each["loc"] for each in reply.json()["error"]["details"]] == [[part]] and reply

    return wait_until(failing, f"{part} fails")


def test_ready(start_service):
    service = start_service(DEMO)
    reply = _wait_until_ready(service)
    assert reply.json()["success"] is True and reply.json()["data"] == "ready"
    assert reply.header("Content-Type") == "application/json"
    assert service.post("/ready", {}).status == 405


def test_needs_no_credentials(start_service):
    service = start_service(behaviour("echo", auth="jwt", env="e"), files={"e": JWT_ENVIRONMENT})
    _wait_until_ready(service)


@pytest.mark.parametrize("stored", ["memory", "none"])
def test_without_a_database(start_service, stored):
    _wait_until_ready(start_service(behaviour("echo", checkpointer=stored)))


def test_a_frozen_state_server(start_service):
    service = start_service(behaviour("echo"), workers=1)
    _wait_until_ready(service)
    manager = service.cache_manager().pid
    processes.freeze(manager)
    try:
        reply = _wait_for_failure(service, "state")
    finally:
        processes.thaw(manager)
    assert reply.json()["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert reply.json()["detail"] == "not ready: state"
    assert reply.header("Retry-After")
    assert service.get("/ping").status == 200
    _wait_until_ready(service)


def test_a_state_directory_that_cannot_be_written_to(start_service):
    service = start_service(behaviour("echo"), workers=1)
    _wait_until_ready(service)
    directory = service.directory / "state" / "test"
    mode = directory.stat().st_mode
    directory.chmod(0o500)
    try:
        reply = _wait_for_failure(service, "disk")
    finally:
        directory.chmod(mode)
    assert not [secret for secret in _SECRETS if secret in reply.text]
    _wait_until_ready(service)


@pytest.mark.one_host("each host watches the models that it asks")
def test_a_provider_that_fails(start_service):
    lost = {
        "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1", "api_key": "sk-secret", "retries_max": 0,
    }  # fmt: skip
    service = start_service(DEMO | {"models": {"default": lost}}, workers=1)
    _wait_until_ready(service)
    for _ in range(5):
        assert service.invoke("x").status == 500
    reply = _wait_for_failure(service, "models")
    assert not [secret for secret in _SECRETS if secret in reply.text]
