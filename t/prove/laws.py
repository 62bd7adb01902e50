"""The laws that every run is checked against, from outside: by its stream, its thread, its record and
the effects that were counted.

1 state is the fold of the log     fields that finished nodes set are there, each once
2 a stream is a view of the log    the whole text, each entry once, over all connections
3 every accepted run ends          and a key starts one run
4 one attempt writes               nothing of an earlier attempt behind a later one
5 a tool call happens once         unless it is idempotent; an unknown effect is not repeated
6 no false poison                  only crashes inside of the run's own code count
"""

import asyncio
import itertools

import outside
from wire import fetch_surely

LAWS = ("1 state is the fold of the log", "2 a stream is a view of the log",
        "3 every accepted run ends", "4 one attempt writes", "5 a tool call happens once",
        "6 no false poison")
_FOLD, _VIEW, _ENDS, _ONE, _ONCE, _POISON = LAWS
_DIGITS_OF_NUMBER = 13
CRASHES_TO_POISON = 3  # the first makes the run a suspect; two more, with no other run in user code, end it


def text_of(message):
    return "".join(b.get("text", "") for b in message["content"] if b.get("type") == "text")


class Book:
    """The checked laws, and their violations."""

    def __init__(self, world):
        self.world = world
        self.violations = []
        self.checks = dict.fromkeys(LAWS, 0)
        self.runs = 0
        self.finished = 0
        self.continued = 0
        self.unknown = 0
        self.resets = 0
        self.reconnects = 0
        self.poisoned = 0

    def begun(self, _):
        self.runs += 1

    def accepted(self, run, run_id):
        self.expect(_ENDS, run_id == run.run_id, f"the key of {run.run_id} led to {run_id}")

    def violate(self, law, what):
        self.violations.append((law, what))
        print(f"VIOLATED {law}: {what}", flush=True)

    def expect(self, law, holds, what):
        self.checks[law] += 1
        if not holds:
            self.violate(law, what)


async def check(book, run, last):
    """`last` is the run that ended the conversation turn: `run`, or the one that resumed it."""
    port = run.instance.port
    for one in {run, last}:
        record = (await fetch_surely(port, "GET", one.path)).data
        if record["reason"] == "poisoned":
            _check_poison(book, one)
            run.poisoned = True
            return
        wanted = "interrupted" if one is not last else "done"
        book.expect(_ENDS, record["status"] == wanted,
                    f"{one.path} is {record['status']} ({record['reason']}), not {wanted}")
        book.continued += record["attempt"] > 1
        if record["status"] != wanted:
            return
    turn = await _turn(port, run)
    _check_conversation(book, run, turn)
    for one in {run, last}:
        _check_stream(book, one, turn)
    await _check_fields(book, run)
    _check_effects(book, run, turn)
    book.finished += 1


def _check_poison(book, run):
    crashes = run.instance.crashes_in_function[run.run_id]
    book.poisoned += 1
    book.expect(_POISON, crashes >= CRASHES_TO_POISON,
                f"{run.path} is poisoned after {crashes} crashes in or beside its functions")


def check_guilty(book, run, record, crashes):
    """A run whose own function ends its worker each time."""
    book.poisoned += 1
    book.finished += 1
    book.expect(_POISON, (record["status"], record["reason"]) == ("error", "poisoned"),
                f"{run.path} ends its workers and is {record['status']} ({record['reason']})")
    book.expect(_POISON, crashes >= CRASHES_TO_POISON,
                f"{run.path} is poisoned after {crashes} crashes")


async def _turn(port, run):
    """The stored messages from the run's question on, up to the next question."""
    path = f"/v1/threads/{run.thread_id}/messages?limit=1000"
    messages = (await fetch_surely(port, "GET", path)).data["messages"]
    begin = [n for n, m in enumerate(messages) if f"run={run.tag} " in text_of(m)]
    tags = [f"run={run.tag} "] + ([f"run={run.resumed.tag} "] if run.resumed else [])
    end = next((n for n, m in enumerate(messages) if begin and n > begin[0]
                and "run=" in text_of(m) and not any(tag in text_of(m) for tag in tags)),
               len(messages))
    return messages[begin[0]:end] if len(begin) == 1 else []


def _said(turn):
    return [text_of(m) for m in turn if m["role"] == "assistant"]


def _check_conversation(book, run, turn):
    """The whole answer, once: what each model said is stored in its order."""
    expected = ["".join(outside.words(run.tag, "main", wave))
                for wave in range(len(outside.waves(run.kind)) + 1)]
    reporter = run.resumed.tag if run.kind == "ask" and run.resumed else run.tag
    expected.append("".join(outside.words(reporter, "report")))
    said = [text.strip() for text in _said(turn)]
    book.expect(_VIEW, said == [text.strip() for text in expected],
                f"{run.path} said {said}, not {expected}")
    ids = [m["message_id"] for m in turn]
    book.expect(_VIEW, len(ids) == len(set(ids)), f"{run.path} has a message twice")


def _check_stream(book, run, turn):
    seen = run.seen
    book.resets += seen.resets
    book.reconnects += max(0, seen.connections - 1)
    stored = {m["message_id"]: text_of(m) for m in turn}
    book.expect(_VIEW, not seen.twice, f"{run.path} sent {seen.twice} twice")
    book.expect(_VIEW, len(seen.done) == 1, f"{run.path} sent `done` {len(seen.done)} times")
    for id, message in seen.messages.items():
        # An announcement of a tool of the client is not part of the thread after its answer.
        if id in stored:
            book.expect(_VIEW, stored[id] == text_of(message), f"{run.path} sent another {id}")
    for id, text in seen.deltas.items():
        whole = text_of(seen.messages[id]) if id in seen.messages else None
        holds = text.strip() in ("", (whole or "").strip())
        book.expect(_VIEW, holds, f"{run.path}: pieces of {id} are {text!r}, not {whole!r}: "
                                  f"{'' if holds else _story(seen)}")
    own = [m["message_id"] for m in turn if m["role"] == "assistant"]
    shown = [id for id in seen.order if id in own]
    other = run.resumed.seen.order if run.resumed else []
    missing = [id for id in own if id not in shown and id not in other and run.resumed]
    book.expect(_VIEW, not missing, f"{run.path} never sent {missing}")
    back = [pair for pair in itertools.pairwise(seen.cursors)
            if _position(pair[0]) > _position(pair[1])]
    book.expect(_ONE, not back, f"{run.path}: cursors go back: {_story(seen, back) if back else ''}")


def _story(seen, back=()):
    """Describes a violation: the pairs of cursors, the connections, all events."""
    pairs = [f"from {_position(before)} to {_position(after)}" for before, after in back]
    connections = [f"{name} after {after and _position(after)}, got {count} events"
                   for name, after, count in seen.history]
    return "; ".join(pairs) + "\n  " + "\n  ".join(connections + seen.blocks)


def epoch_of(cursor):
    return _position(cursor)[1]


def _position(cursor):
    """Thread, epoch, index, bytes of reasoning, bytes of text (engine/run/log/cursor.h)."""
    return tuple(int(cursor[n:n + _DIGITS_OF_NUMBER], 32)
                 for n in range(0, len(cursor), _DIGITS_OF_NUMBER))


async def _check_fields(book, run):
    path = f"/v1/threads/{run.thread_id}/state"
    state = (await fetch_surely(run.instance.port, "GET", path)).data["state"]
    steps = [step.rpartition("/")[2] for step in state.get("steps") or []]
    for step in ("PLAN", "NOTE", "ASK"):
        book.expect(_FOLD, steps.count(step) == run.turn,
                    f"{run.path}: {step} is {steps.count(step)} times in field `steps` after "
                    f"{run.turn} turns")
    verdict = (state.get("verdict") or "").strip()
    wanted = "".join(outside.words(run.tag, "check")).strip()
    book.expect(_FOLD, verdict == wanted, f"{run.path}: field `verdict` is {verdict!r}")


def _results(turn):
    """Items and results. A call id is unique only within a reply of the model."""
    items = {}
    for message in turn:
        for block in message["content"]:
            if block["type"] in ("tool_call", "remote_tool_call"):
                items[block["id"]] = block["args"]["item"]
            elif block["type"] == "tool_result":
                yield items.get(block["call_id"]), block


def _check_effects(book, run, turn):
    results = dict(_results(turn))
    for wave in outside.waves(run.kind):
        for name, item in wave:
            full = f"{run.tag}.{item}"
            result = results.get(full)
            book.expect(_ONCE, result is not None, f"{run.path}: no result of {item}")
            if result is None or name == "ask_client":
                continue
            effects = book.world.effects[full]
            unknown = result.get("is_error") and "unknown" in str(result.get("output"))
            if name == "charge":
                book.expect(_ONCE, len(effects) <= 1, f"{run.path}: {item} took effect twice")
                book.unknown += bool(unknown)
                book.expect(_ONCE, bool(unknown) or len(effects) == 1,
                            f"{run.path}: {item} has the result {result['output']} and "
                            f"{len(effects)} effects")
            else:
                book.expect(_ONCE, effects and not result.get("is_error"),
                            f"{run.path}: {item} has the result {result['output']}")
                book.expect(_ONCE, len(book.world.keys[full]) == 1,
                            f"{run.path}: {item} had {len(book.world.keys[full])} keys")


async def settle(book, customers, seconds):
    """Waits for the clients to end their runs when the faults have ended."""
    done, pending = await asyncio.wait(customers, timeout=seconds)
    for customer in pending:
        customer.cancel()
        book.violate(_ENDS, "a client still waits after the faults have ended")
    for customer in done:
        if customer.exception() is not None:
            book.violate("0 the harness works", repr(customer.exception()))
