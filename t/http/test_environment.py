"""The environment from which a service is configured, over reloads and binary upgrades, and the
variables that its workers see."""

import shutil

from harness import environment, processes
from harness.agents import behaviour
from harness.messages import texts
from harness.service import invocation
from harness.waiting import wait_until

_KEYS = {"auth": {"method": "custom", "path": "auth/api_keys.so:ApiKeys"}}
_ALICE, _BOB = [("X-API-Key", "k1")], [("X-API-Key", "k2")]


def _upgrade(service):
    old = service.master_pid
    service.upgrade()
    wait_until(lambda: not processes.is_alive(old), "the old master has gone")


def _seen(service, name):
    reply = service.invoke(name)
    assert reply.status == 200, reply.text
    return texts(reply.json()["data"]["messages"])[-1]


def test_an_upgrade_stays_in_production(make_service):
    service = make_service(behaviour("echo", checkpointer="${KIND}", **_KEYS))
    service.write("auth/api_keys.txt", "k1 alice\nk2 bob\n")
    shutil.copy(environment.BUILD / "auth" / "api_keys.so", service.directory / "conf" / "auth")
    service.start(extra_environment={"MODE": "production", "KIND": "leveldb"})
    said = service.post("/v1/graph/invoke", invocation("hi", config={"thread_id": "t"}), headers=_ALICE)
    assert said.status == 200, said.text

    def bob():
        setup = service.post("/v1/graph/setup", {"tools": []}, headers=_BOB)
        return service.get("/v1/threads/t", headers=_BOB).status, setup.status

    assert bob() == (403, 403)
    for change in (service.reload, lambda: _upgrade(service), lambda: _upgrade(service)):
        change()
        assert bob() == (403, 403)
        assert service.get("/v1/threads/t", headers=_ALICE).status == 200


def test_workers_see_what_env_lists(make_service):
    service = make_service(behaviour("environment"), main="env LISTED;\nenv GIVEN=given;\n")
    service.start(extra_environment={"LISTED": "listed", "HIDDEN": "hidden", "GIVEN": "other"})
    for change in (lambda: None, service.reload, lambda: _upgrade(service)):
        change()
        assert _seen(service, "LISTED") == "set to listed"
        assert _seen(service, "GIVEN") == "set to given"
        assert _seen(service, "HIDDEN") == "unset"
