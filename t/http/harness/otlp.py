"""Strict check of OTLP/HTTP export requests against the public JSON mapping: opentelemetry-proto
1.x in the JSON form of protocol buffers, ids in hex digits, enumerations as numbers, 64-bit
integers as text, no unknown fields."""

import re


def _text(value):
    assert isinstance(value, str), value


def _int64(value):
    assert isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value), value


def _fixed64(value):
    assert isinstance(value, str) and re.fullmatch(r"\d{1,20}", value), value


def _uint32(value):
    assert isinstance(value, int) and 0 <= value < 2**32, value


def _number(value):
    assert isinstance(value, (int, float)) and not isinstance(value, bool), value


def _bool(value):
    assert isinstance(value, bool), value


def _hex(digits):
    def check(value):
        assert isinstance(value, str) and re.fullmatch(f"[0-9a-f]{{{digits}}}", value), value
        assert set(value) != {"0"}, "an id of zeros is not valid"

    return check


def _enum(highest):
    def check(value):
        assert isinstance(value, int) and not isinstance(value, bool), value
        assert 0 <= value <= highest, value

    return check


def _list(check):
    def check_all(values):
        assert isinstance(values, list), values
        for value in values:
            check(value)

    return check_all


def _message(fields, required=(), one_of=False):
    def check(value):
        assert isinstance(value, dict), value
        assert set(value) <= set(fields()), f"unknown fields {set(value) - set(fields())}"
        assert set(required) <= set(value), f"{required} in {value}"
        assert not one_of or len(value) == 1, value
        for name, member in value.items():
            fields()[name](member)

    return check


_any_value = _message(
    lambda: {
        "stringValue": _text,
        "boolValue": _bool,
        "intValue": _int64,
        "doubleValue": _number,
        "arrayValue": _message(lambda: {"values": _list(_any_value)}),
        "kvlistValue": _message(lambda: {"values": _list(_key_value)}),
        "bytesValue": _text,
    },
    one_of=True,
)
_key_value = _message(lambda: {"key": _text, "value": _any_value}, ("key", "value"))
_attributes = {"attributes": _list(_key_value), "droppedAttributesCount": _uint32}
_span = _message(
    lambda: _attributes
    | {
        "traceId": _hex(32),
        "spanId": _hex(16),
        "traceState": _text,
        "parentSpanId": _hex(16),
        "flags": _uint32,
        "name": _text,
        "kind": _enum(5),
        "startTimeUnixNano": _fixed64,
        "endTimeUnixNano": _fixed64,
        "droppedEventsCount": _uint32,
        "droppedLinksCount": _uint32,
        "status": _message(lambda: {"message": _text, "code": _enum(2)}),
    },
    ("traceId", "spanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano"),
)
_scope = _message(lambda: _attributes | {"name": _text, "version": _text})
_scope_spans = _message(lambda: {"scope": _scope, "spans": _list(_span), "schemaUrl": _text})
_resource_spans = _message(
    lambda: {
        "resource": _message(lambda: _attributes),
        "scopeSpans": _list(_scope_spans),
        "schemaUrl": _text,
    }
)
_request = _message(lambda: {"resourceSpans": _list(_resource_spans)}, ("resourceSpans",))


def _plain(value):
    ((kind, inner),) = value.items()
    if kind == "intValue":
        return int(inner)
    if kind == "arrayValue":
        return [_plain(item) for item in inner["values"]]
    return inner


def _plain_attributes(message):
    keys = [attribute["key"] for attribute in message.get("attributes", [])]
    assert len(keys) == len(set(keys)), f"a key twice in {keys}"
    return {item["key"]: _plain(item["value"]) for item in message.get("attributes", [])}


def read_spans(body):
    """Checks an export request; returns its spans with plain attributes, including those of the
    resource."""
    _request(body)
    spans = []
    for resource_spans in body["resourceSpans"]:
        resource = _plain_attributes(resource_spans["resource"])
        assert resource["service.name"]
        for scope_spans in resource_spans["scopeSpans"]:
            for span in scope_spans["spans"]:
                assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
                plain = {"attributes": _plain_attributes(span), "resource": resource}
                spans.append(span | plain)
    ids = [span["spanId"] for span in spans]
    assert len(ids) == len(set(ids))
    return spans
