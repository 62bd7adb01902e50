"""Case tables in the style of conformance suites for RFC 6455: frames to send, and the answers that
an echo must give. Numbers are those of the groups in such suites."""

import dataclasses

from .websocket import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, close_frame, frame

EMPTY_CLOSE = object()  # a Close without a code


@dataclasses.dataclass
class Case:
    name: str
    sent: bytes
    answers: list  # (opcode, payload) in order
    last: bytes = b""  # sent after the answers have arrived; a Close with `code` follows
    code: object = 1000
    piece: int = 0  # bytes per write; 0: all at once


def _echo(name, *frames, answers, piece=0):
    return Case(name, b"".join(frames), answers, close_frame(1000), piece=piece)


def _fails(name, *frames, code=1002, answers=(), good=0, piece=0):
    """The first `good` frames must be answered before the rest is sent."""
    sent, last = b"".join(frames[:good]), b"".join(frames[good:])
    return Case(name, sent, list(answers), last, code, piece)


def _fragments(opcode, payload, size):
    """Returns a message in fragments of `size` bytes."""
    pieces = [payload[start : start + size] for start in range(0, len(payload), size)] or [b""]
    return b"".join(
        frame(opcode if i == 0 else CONTINUATION, piece, final=i == len(pieces) - 1)
        for i, piece in enumerate(pieces)
    )


def _framing():
    for kind, opcode, letter in (("text", TEXT, b"*"), ("binary", BINARY, b"\xfe")):
        for size in (0, 125, 126, 127, 128, 65535, 65536):
            payload = letter * size
            yield _echo(f"1 {kind} of {size}", frame(opcode, payload), answers=[(opcode, payload)])
        payload = letter * 65536
        yield _echo(
            f"1 {kind} of 65536 in pieces of 997", frame(opcode, payload),
            answers=[(opcode, payload)], piece=997,
        )


def _pings():
    for name, payload in (
        ("empty", b""), ("text", b"Hello, world!"), ("binary", bytes.fromhex("00fffefdfcfb00ff")),
        ("of 125", b"\xfe" * 125),
    ):
        yield _echo(f"2 ping {name}", frame(PING, payload), answers=[(PONG, payload)])
        yield _echo(f"2 ping {name}, bytewise", frame(PING, payload), answers=[(PONG, payload)], piece=1)
    yield _fails("2 ping of 126", frame(PING, b"x" * 126))
    yield _echo("2 unsolicited pong", frame(PONG), answers=[])
    yield _echo("2 unsolicited pong with text", frame(PONG, b"unsolicited"), answers=[])
    yield _echo("2 pong and ping", frame(PONG, b"a") + frame(PING, b"b"), answers=[(PONG, b"b")])


def _reserved_bits():
    for bits in range(1, 8):
        yield _fails(f"3 reserved {bits} text", frame(TEXT, b"Hello", reserved=bits))
        yield _fails(f"3 reserved {bits} binary, bytewise", frame(BINARY, b"\x00", reserved=bits), piece=1)
        yield _fails(f"3 reserved {bits} ping", frame(PING, b"", reserved=bits))
        yield _fails(f"3 reserved {bits} close", frame(CLOSE, b"", reserved=bits))
        yield _fails(
            f"3 reserved {bits} behind a message", frame(TEXT, b"ok"), frame(TEXT, b"x", reserved=bits),
            answers=[(TEXT, b"ok")], good=1,
        )


def _opcodes():
    for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15):
        yield _fails(f"4 opcode {opcode}", frame(opcode))
        yield _fails(f"4 opcode {opcode} with text", frame(opcode, b"reserved opcode"))
        yield _fails(
            f"4 opcode {opcode} behind a message", frame(TEXT, b"ok"), frame(opcode), frame(PING),
            answers=[(TEXT, b"ok")], good=1,
        )


def _fragmentation():
    whole = b"fragment1fragment2"
    parts = frame(TEXT, b"fragment1", final=False), frame(CONTINUATION, b"fragment2")
    yield _fails("5 fragmented ping", frame(PING, b"a", final=False), frame(CONTINUATION, b"b"))
    yield _fails("5 fragmented pong", frame(PONG, b"a", final=False), frame(CONTINUATION, b"b"))
    for piece in (0, 1):
        yield _echo(f"5 two fragments, {piece}", *parts, answers=[(TEXT, whole)], piece=piece)
        yield _echo(
            f"5 ping in between, {piece}", parts[0], frame(PING, b"ping"), parts[1],
            answers=[(PONG, b"ping"), (TEXT, whole)], piece=piece,
        )
        yield _fails(
            f"5 continuation of nothing, {piece}", frame(CONTINUATION, b"x"), frame(TEXT, b"y"), piece=piece
        )
        yield _fails(
            f"5 unfinished continuation of nothing, {piece}", frame(CONTINUATION, b"x", final=False),
            frame(TEXT, b"y"), piece=piece,
        )
        yield _fails(
            f"5 message within a message, {piece}", parts[0], frame(TEXT, b"fragment2"), piece=piece
        )
    yield _fails(
        "5 continuation behind a message", *parts, frame(CONTINUATION, b"x", final=False),
        answers=[(TEXT, whole)], good=2,
    )
    yield _echo(
        "5 five fragments and two pings",
        frame(TEXT, b"1", final=False), frame(CONTINUATION, b"2", final=False), frame(PING, b"a"),
        frame(CONTINUATION, b"3", final=False), frame(CONTINUATION, b"4", final=False),
        frame(PING, b"b"), frame(CONTINUATION, b"5"),
        answers=[(PONG, b"a"), (PONG, b"b"), (TEXT, b"12345")],
    )
    yield _echo("5 empty fragments", *[frame(TEXT, b"", final=False), frame(CONTINUATION, b"", final=False),
                                       frame(CONTINUATION, b"")], answers=[(TEXT, b"")])
    yield _echo("5 text in the middle only", frame(TEXT, b"", final=False),
                frame(CONTINUATION, b"middle", final=False), frame(CONTINUATION, b""),
                answers=[(TEXT, b"middle")])


_GOOD_TEXT = [
    b"", b"Hello-\xc2\xb5@\xc3\x9f\xc3\xb6\xc3\xa4\xc3\xbc\xc3\xa0\xc3\xa1-UTF-8!!", b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5",
    b"\x00", b"\xc2\x80", b"\xe0\xa0\x80", b"\xf0\x90\x80\x80", b"\x7f", b"\xdf\xbf", b"\xef\xbf\xbf",
    b"\xf4\x8f\xbf\xbf", b"\xed\x9f\xbf", b"\xee\x80\x80", b"\xef\xbf\xbd", b"\xef\xbf\xbe",
    b"\xf0\x9f\xbf\xbe", b"\xf3\xaf\xbf\xbf", b"\xf4\x8f\xbf\xbe",
]
_BAD_TEXT = [
    b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited", b"\xf8\x88\x80\x80\x80",
    b"\xfc\x84\x80\x80\x80\x80", b"\xf7\xbf\xbf\xbf", b"\xfb\xbf\xbf\xbf\xbf", b"\xfd\xbf\xbf\xbf\xbf\xbf",
    b"\xf4\x90\x80\x80", b"\x80", b"\xbf", b"\x80\xbf", b"\x80\xbf\x80", b"\xc0 \xc1 \xc2 ", b"\xe0 \xe1 \xef ",
    b"\xf0 \xf1 \xf7 ", b"\xf8 \xfb ", b"\xfc \xfd ", b"\xc0", b"\xe0\x80", b"\xf0\x80\x80", b"\xdf", b"\xef\xbf",
    b"\xf7\xbf\xbf", b"\xfe", b"\xff", b"\xfe\xfe\xff\xff", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf",
    b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xf0\x8f\xbf\xbf", b"\xc0\x80", b"\xe0\x80\x80", b"\xf0\x80\x80\x80",
    b"\xed\xa0\x80", b"\xed\xad\xbf", b"\xed\xae\x80", b"\xed\xaf\xbf", b"\xed\xb0\x80", b"\xed\xbe\x80",
    b"\xed\xbf\xbf", b"\xed\xa0\x80\xed\xb0\x80", b"\xed\xaf\xbf\xed\xbf\xbf",
]


def _utf8():
    for text in _GOOD_TEXT:
        yield _echo(f"6 good {text.hex()}", frame(TEXT, text), answers=[(TEXT, text)])
        yield _echo(f"6 good {text.hex()} in fragments", _fragments(TEXT, text, 1), answers=[(TEXT, text)])
    for text in _BAD_TEXT:
        yield _fails(f"6 bad {text.hex()}", frame(TEXT, text), code=1007)
        yield _fails(f"6 bad {text.hex()} in fragments", _fragments(TEXT, text, 1), code=1007)
        yield _echo(f"6 binary {text.hex()}", frame(BINARY, text), answers=[(BINARY, text)])
    # Reported as soon as it is certain, without the rest of the message.
    yield _fails("6 fails fast", frame(TEXT, b"\xce\xba\xf4\x90", final=False), code=1007)


def _closing():
    # A Close cancels runs and thereby answers that are not sent yet, so the test waits for the echo
    # first.
    yield _echo("7 a message and a close", frame(TEXT, b"Hello World!"), answers=[(TEXT, b"Hello World!")])
    yield Case("7 two closes", close_frame(1000) + close_frame(1000), [])
    yield Case("7 a ping behind a close", close_frame(1000) + frame(PING), [])
    yield Case("7 a message behind a close", close_frame(1000) + frame(TEXT, b"late"), [])
    yield Case("7 a close within a message",
               frame(TEXT, b"begun", final=False) + close_frame(1000) + frame(CONTINUATION, b"x"), [])
    yield Case("7 no code", close_frame(), [], code=EMPTY_CLOSE)
    yield _fails("7 one byte", frame(CLOSE, b"\x03"))
    yield Case("7 a reason", close_frame(1000, b"Hello World!"), [])
    yield Case("7 a reason of 123", close_frame(1000, b"*" * 123), [])
    yield _fails("7 a reason of 124", frame(CLOSE, b"\x03\xe8" + b"*" * 124))
    yield _fails("7 a reason that is no text", close_frame(1000, b"\xce\xba\xed\xa0\x80"), code=1007)
    for code in (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999):
        yield Case(f"7 code {code}", close_frame(code), [], code=code)
    for code in (0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535):
        yield _fails(f"7 code {code}", close_frame(code))


def _limits():
    megabyte = 1024 * 1024
    for kind, opcode, letter in (("text", TEXT, b"*"), ("binary", BINARY, b"\xfe")):
        for size in (64 * 1024, megabyte, 8 * megabyte):
            payload = letter * size
            yield _echo(f"9 {kind} of {size}", frame(opcode, payload), answers=[(opcode, payload)])
        payload = letter * (4 * megabyte)
        for size in (64, 4096, 65536, megabyte):
            sent = _fragments(opcode, payload if size > 64 else payload[: megabyte // 4], size)
            answer = payload if size > 64 else payload[: megabyte // 4]
            yield _echo(f"9 {kind} in fragments of {size}", sent, answers=[(opcode, answer)])
        payload = letter * megabyte
        yield _echo(f"9 {kind} in pieces of 1024", frame(opcode, payload), answers=[(opcode, payload)], piece=1024)
    yield _echo("9 a thousand messages", *[frame(TEXT, b"x" * 64)] * 1000, answers=[(TEXT, b"x" * 64)] * 1000)
    yield _echo("10 fragments of 1300", _fragments(TEXT, b"*" * 65536, 1300), answers=[(TEXT, b"*" * 65536)])


CASES = [
    case
    for group in (_framing, _pings, _reserved_bits, _opcodes, _fragmentation, _utf8, _closing, _limits)
    for case in group()
]
