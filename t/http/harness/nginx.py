"""One nginx instance of a test: its folder, its processes and its log."""

import contextlib
import os
import pathlib
import pwd
import signal
import subprocess

from . import environment, processes, sanitizer
from .error_log import ErrorLog
from .waiting import wait_until

# If the tests run as root, workers run as another user, as in an installed nginx.
WORKER_USER = "nobody"


class Nginx:
    """Owns everything below `directory`. The configuration may be rewritten between reloads."""

    def __init__(self, directory, configuration):
        self.directory = pathlib.Path(directory)
        self.error_log = ErrorLog(self.directory / "logs" / "error.log")
        self.session = None
        for name in ("conf", "logs", "temp", "state"):
            (self.directory / name).mkdir(parents=True, exist_ok=True)
        self._let_workers_write()
        self.configure(configuration)

    def _let_workers_write(self):
        if os.getuid() == 0:
            user = pwd.getpwnam(WORKER_USER)
            os.chown(self.directory / "logs", user.pw_uid, user.pw_gid)
            os.chown(self.directory / "temp", user.pw_uid, user.pw_gid)
            self.directory.chmod(0o755)

    # Configuration

    def configure(self, configuration):
        self.configuration = configuration
        (self.directory / "conf" / "nginx.conf").write_text(configuration)

    def write(self, name, content):
        """Writes a file next to nginx.conf and returns its path."""
        path = self.directory / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content)
        return path

    def command_line(self):
        """The nginx binary with this configuration."""
        command = [environment.NGINX_BINARY, "-p", f"{self.directory}/", "-c", "conf/nginx.conf"]
        if os.getuid() == 0:
            command += ["-g", f"user {WORKER_USER} nogroup;"]
        return command

    def run(self, *arguments, extra_environment=None):
        """Runs the nginx binary with this configuration; returns (exit code, output)."""
        # A file, not a pipe: the daemon inherits it and would keep a pipe open.
        printed = self.directory / "logs" / "printed"
        with open(printed, "wb") as output:
            done = subprocess.run(
                [*self.command_line(), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment(extra_environment),
                timeout=environment.PATIENCE,
                check=False,
            )
        return done.returncode, printed.read_text(errors="replace")

    def _environment(self, extra):
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return kept | sanitizer.variables(self.directory / "logs") | (extra or {})

    def test_configuration(self, extra_environment=None):
        """Runs nginx -t; returns (accepted, output)."""
        code, printed = self.run("-t", extra_environment=extra_environment)
        return code == 0, printed

    def refusal(self):
        """Returns the output of nginx -t for a configuration that it rejects."""
        self.error_log.allow(r"\[emerg\]")  # newer versions of nginx also log it there
        accepted, printed = self.test_configuration()
        assert not accepted, printed
        return printed

    # Life cycle

    def start(self, extra_environment=None):
        before = self.state_terms()
        code, printed = self.run(extra_environment=extra_environment)
        if code != 0:
            raise AssertionError(f"nginx did not start:\n{printed}\n{self.error_log.text()}")
        # Debian's nginx writes the pid file before the daemon has left our session.
        master = self.master_pid
        wait_until(lambda: os.getsid(master) == master, "the daemon has a session of its own")
        self.session = master
        self.wait_for_workers()
        self.wait_for_state(before)
        return self

    @property
    def master_pid(self):
        return wait_until(self._read_pid, "nginx has written its pid file")

    def _read_pid(self, name="nginx.pid"):
        try:
            return int((self.directory / "logs" / name).read_text())
        except (FileNotFoundError, ValueError):
            return None

    def processes(self):
        return processes.in_session(self.session) if self.session else []

    def masters(self):
        return [process for process in self.processes() if "master process" in process.title]

    def workers(self, master=None):
        """Worker processes that are not draining, of one master or of all."""
        return [
            process
            for process in self.processes()
            if process.title.startswith("nginx: worker process")
            and not process.draining
            and master in (None, process.parent)
        ]

    def only_worker(self):
        """The worker of an nginx that has one."""
        (worker,) = self.workers()
        return worker

    def draining_workers(self):
        return [process for process in self.processes() if process.draining]

    def cache_managers(self):
        return [process for process in self.processes() if "cache manager" in process.title]

    def cache_manager(self):
        """The only cache manager; while one replaces another, waits until that is complete."""

        def settled():
            running = self.cache_managers()
            return running[0] if len(running) == 1 else None

        return wait_until(settled, "one cache manager runs")

    # Overridden by services with a state; see Service.

    def state_terms(self):
        return 0

    def wait_for_state(self, before):
        pass

    def wait_for_workers(self, other_than=()):
        """Waits until the configured number of new workers is running; returns their pids."""
        wanted = self._configured_workers()

        def ready():
            pids = {process.pid for process in self.workers()} - set(other_than)
            return pids if len(pids) >= wanted else None

        return wait_until(ready, f"{wanted} workers run")

    def _configured_workers(self):
        for line in self.configuration.splitlines():
            words = line.strip().rstrip(";").split()
            if words[:1] == ["worker_processes"]:
                return int(words[1])
        return 1

    def signal(self, number, pid=None):
        os.kill(pid or self.master_pid, number)

    def reload(self):
        """Sends HUP; returns when new workers are running, the old ones accept no more connections,
        and the new cache manager, if there is one, has taken over from the old one."""
        old = {process.pid for process in self.workers()}
        before = self.state_terms()
        self.signal(signal.SIGHUP)
        fresh = self.wait_for_workers(other_than=old)
        wait_until(
            lambda: not old & {process.pid for process in self.workers()}, "old workers drain"
        )
        self.wait_for_state(before)
        return fresh

    def refused_reload(self):
        """Sends HUP with a configuration that nginx must reject; returns the lines that it logs
        about it."""
        before = self.error_log.text()
        self.signal(signal.SIGHUP)
        wait_until(
            lambda: "[emerg]" in self.error_log.text()[len(before) :], "nginx refuses the reload"
        )
        return [line for line in self.error_log.text()[len(before) :].splitlines() if "[emerg]" in line]

    def kill(self, pid):
        """Kills one process (kill -9); returns when it has exited."""
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not processes.is_alive(pid), f"process {pid} has gone")

    def kill_all(self):
        """Kills all processes (kill -9), the master first because it would replace the others. Some
        exit by themselves when another one does."""
        while running := self.masters() or self.processes():
            for process in running:
                with contextlib.suppress(ProcessLookupError):
                    self.kill(process.pid)
        (self.directory / "logs" / "nginx.pid").unlink(missing_ok=True)

    def kill_worker(self, victim=None):
        """Kills one worker (kill -9), by its pid or any; returns when the master has replaced
        it."""
        before = {process.pid for process in self.workers()}
        victim = victim or min(before)
        self.error_log.allow(rf"worker process {victim} exited on signal 9")
        self.kill(victim)
        wait_until(lambda: {process.pid for process in self.workers()} - before, "a new worker runs")
        return victim

    def kill_workers(self):
        """Kills all workers (kill -9) at once, so that none continues the runs of another one; returns the
        pids of the new workers when the master has replaced them."""
        before = {process.pid for process in self.workers()}
        self.error_log.allow(r"worker process \d+ exited on signal 9")
        for pid in before:
            processes.freeze(pid)
        for pid in before:
            self.kill(pid)
        return self.wait_for_workers(other_than=before)

    def upgrade(self):
        """Sends USR2, then QUIT to the old master, so that the new binary takes over. Returns the
        new master."""
        old = self.master_pid
        before = self.state_terms()
        self.signal(signal.SIGUSR2, old)

        def started():
            fresh = [process for process in self.masters() if process.pid != old]
            return fresh and self.workers(master=fresh[0].pid) and fresh[0].pid

        new = wait_until(started, "the new binary runs")
        wait_until(lambda: self._read_pid() == new, "the new master owns the pid file")
        self.wait_for_state(before)
        self.signal(signal.SIGQUIT, old)
        return new

    def quit(self):
        """Stops gracefully (QUIT)."""
        self._end(signal.SIGQUIT)

    def stop(self):
        """Stops fast (TERM). nginx kills processes that take longer than 1.5 seconds to exit, which is not
        much on a busy machine."""
        for process in self.processes():
            self.error_log.allow(rf" process {process.pid} exited on signal 9")
        self._end(signal.SIGTERM)

    def _children_that_try(self):
        """Children of a master that validate a configuration. Their title is that of a master, but
        they are in no pid file."""
        masters = self.masters()
        parents = {master.pid for master in masters}
        known = (self._read_pid(), self._read_pid("nginx.pid.oldbin"))
        return [one for one in masters if one.parent in parents and one.pid not in known]

    def _end(self, number):
        # If a signal ended such a child, nginx would report a graph that crashes.
        wait_until(lambda: not self._children_that_try(), "no configuration is being tried")
        for master in self.masters():
            with contextlib.suppress(ProcessLookupError):
                self.signal(number, master.pid)

    def wait_until_gone(self):
        wait_until(lambda: not self.processes(), "all processes of nginx have gone")

    def wait_for_log(self, pattern, count=1):
        """Waits until error.log has `count` lines with the pattern; returns all of them. A process
        may log after it has answered a request."""

        def logged():
            lines = self.error_log.lines(pattern)
            return lines if len(lines) >= count else None

        return wait_until(logged, f"{pattern!r} is logged")

    # Final checks

    def close(self):
        """Stops what is still running and returns all problems that were found."""
        problems = []
        if self.processes():
            self.stop()
            try:
                self.wait_until_gone()
            except AssertionError as error:
                left = ", ".join(f"{process.pid} {process.title}" for process in self.processes())
                problems.append(f"{error}: {left}")
                self.kill_all()
        problems += self.error_log.forbidden_lines()
        printed = self.directory / "logs" / "printed"
        if printed.exists():
            problems += self.error_log.forbidden_lines(printed.read_text(errors="replace"))
        problems += sanitizer.reports(self.directory / "logs")
        return problems
