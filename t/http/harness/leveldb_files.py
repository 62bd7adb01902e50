"""Parses LevelDB's files on disk, for tests that damage one exact place. The formats are public:
doc/table_format.md and doc/log_format.md of LevelDB."""

import dataclasses
import struct

LOG_BLOCK, RECORD_HEAD = 32768, 7
_FOOTER = 48
_TRAILER = 5  # per table block: one byte for the compression, four for the checksum
_SNAPPY = 1
_SEQUENCE = 8  # follows each key of a table


@dataclasses.dataclass
class Block:
    """A data block of a table: its position in the file and the keys of its rows."""

    offset: int
    size: int
    keys: list


@dataclasses.dataclass
class Record:
    """A physical record of a log: the position of its header in the file, and its content."""

    offset: int
    type: int
    payload: bytes

    @property
    def end(self):
        return self.offset + RECORD_HEAD + len(self.payload)


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _snappy(data):
    size, at = _varint(data, 0)
    out = bytearray()
    while at < len(data):
        tag = data[at]
        at += 1
        if tag & 3 == 0:  # a literal
            length = tag >> 2
            if length >= 60:
                extra = length - 59
                length = int.from_bytes(data[at : at + extra], "little")
                at += extra
            out += data[at : at + length + 1]
            at += length + 1
            continue
        if tag & 3 == 1:
            length, distance = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | data[at]
            at += 1
        else:
            extra = 2 if tag & 3 == 2 else 4
            length, distance = (tag >> 2) + 1, int.from_bytes(data[at : at + extra], "little")
            at += extra
        for _ in range(length):
            out.append(out[-distance])
    assert len(out) == size
    return bytes(out)


def _rows(content, offset, size):
    block = content[offset : offset + size]
    if content[offset + size] == _SNAPPY:
        block = _snappy(block)
    restarts = struct.unpack("<I", block[-4:])[0]
    end = len(block) - 4 - 4 * restarts
    at, key = 0, b""
    while at < end:
        shared, at = _varint(block, at)
        unshared, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + unshared]
        at += unshared
        yield key[:-_SEQUENCE], block[at : at + length]
        at += length


def _index(content):
    footer = content[-_FOOTER:]
    _, at = _varint(footer, 0)
    _, at = _varint(footer, at)
    offset, at = _varint(footer, at)
    size, _ = _varint(footer, at)
    return offset, size


def index_block(table):
    """The position of a table's index: (offset, size)."""
    return _index(table.read_bytes())


def data_blocks(table):
    content = table.read_bytes()
    blocks = []
    for _, handle in _rows(content, *_index(content)):
        offset, at = _varint(handle, 0)
        size, _ = _varint(handle, at)
        blocks.append(Block(offset, size, [key for key, _ in _rows(content, offset, size)]))
    return blocks


def record_bytes(path):
    """The bytes of a log before the zeros that its next records replace. No record ends with a zero."""
    return path.read_bytes().rstrip(b"\0")


def log_records(log):
    """All physical records of an undamaged log."""
    content = record_bytes(log)
    records, at = [], 0
    while at + RECORD_HEAD <= len(content):
        if LOG_BLOCK - at % LOG_BLOCK < RECORD_HEAD:
            at += LOG_BLOCK - at % LOG_BLOCK
            continue
        _, length, kind = struct.unpack_from("<IHB", content, at)
        records.append(Record(at, kind, content[at + RECORD_HEAD : at + RECORD_HEAD + length]))
        at = records[-1].end
    return records


def overwrite(file, offset, damage):
    with file.open("r+b") as opened:
        opened.seek(offset)
        opened.write(damage)
