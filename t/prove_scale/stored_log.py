"""Reads the tables from outside, without the service: the log of each thread has no gap, each of its
entries was written under one lease, and what clients have been told is there."""

import dataclasses
import struct

_LOG = "SELECT encode(key, 'hex'), encode(value, 'hex') FROM agent_graph.log ORDER BY key"


def _unpacked(data, at=0):
    """The MessagePack value at a position, and the position behind it."""
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 0x100, at
    if kind in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[kind], at
    if 0xCC <= kind <= 0xD3 or kind in (0xCA, 0xCB):
        form = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
                0xD3: ">q", 0xCA: ">f", 0xCB: ">d"}[kind]
        size = struct.calcsize(form)
        return struct.unpack(form, data[at : at + size])[0], at + size
    count, width = _length(kind, data, at)
    at += width
    if 0x90 <= kind < 0xA0 or kind in (0xDC, 0xDD):
        items = []
        for _ in range(count):
            item, at = _unpacked(data, at)
            items.append(item)
        return items, at
    return data[at : at + count], at + count


def _length(kind, data, at):
    """The number of bytes or items that follow, and the bytes that say so."""
    if 0x90 <= kind < 0xA0:
        return kind & 0x0F, 0
    if 0xA0 <= kind < 0xC0:
        return kind & 0x1F, 0
    width = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4}[kind]
    return int.from_bytes(data[at : at + width], "big"), width


@dataclasses.dataclass
class Row:
    thread: bytes  # the beginning of the keys of its rows
    last: int  # the index of its last entry
    entries: list
    epoch: int


def _rows(databases):
    for key, value in databases.query(_LOG):
        key, (entries, epoch, *_), = bytes.fromhex(key), _unpacked(bytes.fromhex(value))[0]
        yield Row(key[:-8], int.from_bytes(key[-8:], "big"), entries, epoch)


def faults(databases, runs):
    """Returns what is wrong. `runs` are those of the clients that have ended."""
    found = []
    before = None
    for row in _rows(databases):
        if before is not None and before.thread == row.thread:
            first = row.last - len(row.entries) + 1
            if first != before.last + 1:
                found.append(f"entry {first} follows {before.last} in thread {row.thread.hex()}")
            if row.epoch < before.epoch:
                found.append(f"epoch {row.epoch} follows {before.epoch} in thread {row.thread.hex()}")
        before = row
    found += _lost(databases, runs)
    return found


def _lost(databases, runs):
    """Yields what was acknowledged to a client and is not stored."""
    statuses = dict(databases.query("SELECT run_id, status FROM agent_graph.run"))
    texts = b"\0".join(
        bytes.fromhex(value)
        for (value,) in databases.query("SELECT encode(value, 'hex') FROM agent_graph.message")
    )
    for run in runs:
        if statuses.get(run.run_id) not in ("done", "interrupted"):
            yield f"{run.path} was acknowledged and is {statuses.get(run.run_id)}"
        for id, message in run.seen.messages.items():
            if message["role"] == "assistant" and id.encode() not in texts:
                yield f"{run.path} has sent message {id}, which is not stored"
