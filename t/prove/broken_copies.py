"""Shows that the proofs can fail: breaks a copy of the code in one place at a time, builds it, and
expects that the simulation and the harness each find it.

    python3 t/prove/broken_copies.py [NAME...]

The copy is build/broken. Each break recompiles one batch of files and links two programs."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_COPY = _ROOT / "build" / "broken"
_BUILD = _COPY / "build" / "release"
_STORE = "engine/state/store/"
_SCHEDULES = 100_000
_KILLS = 400


@dataclasses.dataclass
class Break:
    """Replaces texts, each of which must occur once. `simulation` and `harness`: the proofs that must find
    the break."""

    name: str
    edits: list
    simulation: bool = True
    harness: bool = True


BREAKS = [
    Break("fence removed", [
        (_STORE + "store_runs.cc",
         "if (found == leases_.end() || !Holds(found->second.row, from.client, append.run_id) ||\n"
         "      found->second.row.epoch != append.lease_epoch) {",
         "(void)from;\n  if (found == leases_.end()) {"),
    ]),
    Break("fold skipped", [
        (_STORE + "store_grants.cc",
         "AG_ASSIGN_OR_RETURN(const Snapshot folded, FoldRun(lease, editor));",
         "AG_ASSIGN_OR_RETURN(const Snapshot folded, editor.ReadSnapshot());"),
    ]),
    # Only a power cut shows this break, not kill -9.
    Break("acknowledgement before sync", [
        (_STORE + "store.cc",
         "    case Operation::kAcceptRun:\n",
         "    case Operation::kAcceptRun:\n"
         "      sync = false;\n"),
    ], harness=False),
    # A break in the executor, which the simulation does not use: it commits and replies by itself.
    Break("acknowledgement before commit", [
        (_STORE + "store.h",
         " private:\n  std::vector<StoreReply> TakeReplies();\n",
         "  std::vector<StoreReply> TakeReplies();\n\n private:\n"),
        (_STORE + "executor.cc",
         "  heads_.CommitBegins();\n",
         "  heads_.CommitBegins();\n"
         "  Send(store_.TakeReplies(), {}, /*syncs_later=*/false);\n"
         "  usleep(30'000);\n"),
    ], simulation=False),
    Break("grant without a new epoch", [
        (_STORE + "store_grants.cc", "  ++lease.row.epoch;\n", ""),
    ]),
    Break("key not in the commit of its run", [
        (_STORE + "store.h",
         "  uint64_t remote_tools_version_ = 0;\n",
         "  uint64_t remote_tools_version_ = 0;\n"
         "  std::vector<std::pair<Deadline, std::function<void()>>> late_keys_;\n"),
        (_STORE + "store_accepted.cc",
         "if (accept.key) StageKey(accept, thread, micros);",
         "if (accept.key) {\n"
         "    late_keys_.emplace_back(MonotonicClock::now() + std::chrono::milliseconds(50),\n"
         "                            [this, accept, thread, micros] {\n"
         "                              StageKey(accept, thread, micros);\n"
         "                              transaction_.Accept(false);\n"
         "                            });\n"
         "  }"),
        (_STORE + "store.cc",
         "  if (now >= next_waiter_) ExpireWaiters(now);\n",
         "  for (auto& [due, store_key] : std::exchange(late_keys_, {})) {\n"
         "    if (due <= now) {\n"
         "      store_key();\n"
         "    } else {\n"
         "      late_keys_.emplace_back(due, store_key);\n"
         "    }\n"
         "  }\n"
         "  if (now >= next_waiter_) ExpireWaiters(now);\n"),
    ]),
    Break("reader not woken", [
        ("engine/state/follow/followers.cc",
         "  if (thread.version != version) return Outcome::kChanged;\n", "  (void)version;\n"),
    ], harness=False),
    Break("attempts not told apart", [
        ("engine/state/calls/executor.cc",
         "           (run.lease_epoch == 0 || run.lease_epoch == lease_epoch);\n",
         "           (run.lease_epoch == 0 || lease_epoch != 0);\n"),
    ], harness=False),
    Break("an end that is sent again is refused", [
        (_STORE + "store_ends.cc",
         "AG_ASSIGN_OR_RETURN(const bool is_repeated, HasFinished(finish.append));",
         "const bool is_repeated = false;"),
    ], harness=False),
    Break("requests of an earlier connection executed", [
        (_STORE + "store.cc",
         "if (found == clients_.end() || found->second.connection != connection) return nullptr;",
         "(void)connection;\n  if (found == clients_.end()) return nullptr;"),
    ], harness=False),
    Break("a worker that leaves counts as a crash", [
        (_STORE + "store_clients.cc",
         "entry.connected_here && entry.takes_runs", "entry.connected_here"),
    ], simulation=False),
    Break("one crash alone poisons", [
        ("engine/state/rules/lost_run.h",
         "inline constexpr uint32_t kCrashesAloneMax = 2;",
         "inline constexpr uint32_t kCrashesAloneMax = 1;"),
    ], simulation=False),
    Break("unknown effect repeated", [
        ("engine/run/context/lost_calls.cc",
         "  if (fate.repeatable) return std::nullopt;\n", "  return std::nullopt;\n"),
    ], simulation=False),
]


def _copy_sources():
    files = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, check=True, capture_output=True)
    for name in files.stdout.decode().split("\0"):
        source, target = _ROOT / name, _COPY / name
        if not name or not source.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists() or target.read_bytes() != source.read_bytes():
            shutil.copyfile(source, target)
            target.chmod(source.stat().st_mode)
    # The build looks for nginx's headers there if the package nginx-dev is not installed.
    headers = _COPY / "build" / "nginx-dev"
    headers.parent.mkdir(exist_ok=True)
    if not headers.is_symlink():
        headers.symlink_to(_ROOT / "build" / "nginx-dev")


def _edit(edits):
    for name, old, new in edits:
        path = _COPY / name
        text = path.read_text()
        if text.count(old) != 1:
            raise SystemExit(f"{name} has changed: the break is to be written again: {old!r}")
        path.write_text(text.replace(old, new))


def _build(broken):
    # Laid out like the checkout, so that ccache knows everything but the break.
    environment = os.environ | {"CCACHE_BASEDIR": str(_COPY), "CCACHE_NOHASHDIR": "1"}
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "env": environment}
    subprocess.run(["cmake", "-S", _COPY, "-B", _BUILD, "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release"], **quiet)
    targets = ["prove_simulation"] if broken.simulation else []
    targets += ["ngx_http_agent_graph_module", "t/graphs/proving.so", "agent-extract"]
    subprocess.run(["ninja", "-C", _BUILD, *targets], **quiet)


def _run(command):
    """Returns the first violation that the command reports; empty: none."""
    environment = os.environ | {"AGENT_GRAPH_BUILD": str(_BUILD)}
    environment.pop("AGENT_GRAPH_MODULE", None)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stdout.splitlines()
             if line.startswith(("seed ", "VIOLATED")) and ":" in line]
    return lines[0] if lines else f"exit code {done.returncode}"


def _try(broken):
    """Returns true if every proof that must find the break has found it."""
    began = time.monotonic()
    _copy_sources()
    _edit(broken.edits)
    _build(broken)
    print(f"{broken.name} (built in {time.monotonic() - began:.0f} s)", flush=True)
    seen = True
    if broken.simulation:
        found = _run([_BUILD / "prove_simulation", "--schedules", str(_SCHEDULES)])
        print(f"  simulation: {found or 'NOT FOUND'}", flush=True)
        seen = bool(found)
    if broken.harness:
        found = _run(["/usr/bin/python3", _ROOT / "t" / "prove" / "prove.py", str(_KILLS), "1"])
        print(f"  harness: {found or 'NOT FOUND'}", flush=True)
        seen = bool(found) and seen
    return seen


def main():
    wanted = sys.argv[1:]
    chosen = [broken for broken in BREAKS if not wanted or broken.name in wanted]
    missed = [broken.name for broken in chosen if not _try(broken)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} broken copies were found")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
