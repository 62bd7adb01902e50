"""Actions and accidents of an operator while clients write. See test_storm.py for kills and
test_full_disk.py for a full disk."""

import contextlib

import pytest

from harness import processes
from harness.agents import behaviour
from harness.ledger import judge, progress, run_writers, settle
from harness.waiting import wait_until

_SETTINGS = behaviour("echo", store="leveldb", embedding="hash")
_WRITERS = 4


@pytest.fixture
def under_load(start_service):
    """Runs `faults(service, writers)` under load; then checks everything acknowledged to the
    writers."""

    def run(faults):
        service = start_service(_SETTINGS, workers=4)

        def strike(writers):
            faults(service, writers)
            progress(writers)

        writers = run_writers(service, _WRITERS, strike)
        settle(service)
        judge(service, writers)
        return writers

    return run


def test_a_reload_with_a_bad_configuration_changes_nothing(under_load):
    def faults(service, writers):
        before = {p.pid for p in service.workers() + service.cache_managers()}
        service.error_log.allow(r"\[emerg\]")
        service.write_settings("{")
        for _ in range(3):
            service.refused_reload()
            progress(writers)
        assert before == {p.pid for p in service.workers() + service.cache_managers()}

    writers = under_load(faults)
    assert sum(writer.refused for writer in writers) == 0


def test_reload_after_reload(under_load):
    def faults(service, writers):
        for _ in range(5):
            service.reload()
            progress(writers)

    under_load(faults)


def test_the_owner_is_killed_again_and_again(under_load):
    """Kills it as fast as the master replaces it."""

    def faults(service, _):
        service.error_log.allow(r"exited on signal 9")
        for _ in range(10):
            for owner in wait_until(service.cache_managers, "there is an owner"):
                with contextlib.suppress(ProcessLookupError):
                    service.kill(owner.pid)

    under_load(faults)


def test_the_binary_is_upgraded(under_load):
    def faults(service, writers):
        old = service.master_pid
        service.upgrade()
        wait_until(lambda: not processes.is_alive(old), "the old master has gone")
        progress(writers)

    under_load(faults)


def test_without_their_master_the_processes_go_on(under_load):
    def faults(service, writers):
        service.kill(service.master_pid)
        for _ in range(3):
            progress(writers)
        # A new nginx needs the port, so the rest of the old one is killed, as service managers do.
        service.kill_all()
        service.start()

    under_load(faults)


@pytest.mark.leveldb("a second nginx would get another database")
def test_a_worker_stands_in_until_there_is_an_owner(under_load, make_service):
    """Without master and cache manager, a worker serves the state until another nginx on the same
    state starts the next state server."""

    def faults(service, writers):
        service.kill(service.master_pid)
        for owner in service.cache_managers():
            service.kill(owner.pid)
        progress(writers)
        assert not service.cache_managers()
        service.wait_for_log("this worker serves the state as a fallback")
        another = make_service(_SETTINGS)
        state = service.directory / "state" / "test"
        another.configure(another.configuration.replace("state=state/test", f"state={state}"))
        another.start()
        progress(writers)
        assert another.get("/v1/threads/ledger0/messages").status == 200
        # After its end, the first nginx's workers are alone again.
        another.kill_all()
        progress(writers)
        service.kill_all()
        service.start()
        progress(writers)

    under_load(faults)
