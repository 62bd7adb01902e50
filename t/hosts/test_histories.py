"""The check of `make prove-scale` that appends and reads of a thread are linearizable."""

import pathlib
import sys

import pytest

_TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(_TESTS / "prove"), str(_TESTS / "prove_scale")]

from histories import Operation, faults  # noqa: E402

_A, _B = Operation(0, 1, "a"), Operation(2, 3, "b")
_LOST = Operation(0, message="x")  # it is unknown if it had an effect


def _read(began, *messages, lasts=0.5):
    return Operation(began, began + lasts, messages=list(messages))


@pytest.mark.parametrize(
    "operations",
    [
        [_A, _B],
        [_A, _B, _read(1.2, "a"), _read(3.2, "a", "b")],
        [_A, _B, _read(0.5, "a", lasts=2), _read(2.5, "a", lasts=2), _read(5, "a", "b")],
        [_LOST, _read(1), _read(9)],
        [_LOST, _read(1), _read(9, "x")],
    ],
)
def test_a_history_that_one_order_explains(operations):
    assert faults(operations) == []


@pytest.mark.parametrize(
    "operations, said",
    [
        ([_A, _read(1.2)], "a later read does not show it"),
        ([_A, _B, _read(3.2, "b", "a")], "b comes before a"),
        ([_A, _B, _read(3.2, "b")], "a was acknowledged"),
        ([_A, _B, _read(3.2, "a", "b"), _read(4, "a")], "a later read shows 1 of 2 messages"),
        ([_A, _read(3.2, "a", "a")], "a message is there twice"),
        ([_A, _read(3.2, "a", "z")], "nobody has appended ['z']"),
        ([_A, _B, _read(1.1, "a", "b", lasts=0.1)], "a read shows b before it was sent"),
        ([_LOST, _A, _read(2, "x", "a"), _read(3, "a", "x")], "something else at this place"),
    ],
)
def test_a_history_that_no_order_explains(operations, said):
    assert any(said in problem for problem in faults(operations))
