"""Checks based on the service's OpenAPI document: schemas for answers, and valid or invalid request
bodies."""

import copy
import random
import string

import jsonschema

_DEPTH_MAX = 6
_TEXTS = ["", " ", "a", "caf\u00e9", "0", "-1", "007", "\u0000", "x" * 40, "\U0001f600", "a/b", "{}"]
_VALUES = [None, True, False, 0, 1, -1, 2.5, 1e300, 10**20, "", "text", [], [1], {}, {"a": 1}]


class OpenApi:
    def __init__(self, document):
        self.document = document

    def operations(self):
        """Yields (method, path, operation) of each operation."""
        for path, item in self.document["paths"].items():
            for method, operation in item.items():
                yield method.upper(), path, operation

    def resolve(self, schema):
        while "$ref" in schema:
            node = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                node = node[part]
            schema = node
        return schema

    def validator(self, schema):
        return jsonschema.Draft202012Validator(schema | {"components": self.document["components"]})

    def check_headers(self, method, path, reply):
        """Checks that the reply has the headers that the document describes for its status; returns the
        description of the response."""
        responses = self.document["paths"][path][method.lower()]["responses"]
        described = responses.get(str(reply.status)) or responses[f"{reply.status // 100}XX"]
        described = self.resolve(described)
        for name, header in described.get("headers", {}).items():
            assert reply.header(name) or not header["required"], f"{method} {path}: no {name}"
        return described

    def check_answer(self, method, path, reply):
        """Checks that the reply matches what the document describes for this operation."""
        content = self.check_headers(method, path, reply)["content"]
        kind = reply.header("Content-Type").split(";")[0]
        assert kind in content, f"{method} {path}: {kind}"
        values = reply.lines() if kind in ("text/event-stream", "application/x-ndjson") else [reply.json()]
        validator = self.validator(content[kind]["schema"])
        for value in values:
            validator.validate(value)

    def body_schema(self, operation):
        body = operation.get("requestBody")
        return body and body["content"].get("application/json", {}).get("schema")


class Generator:
    """Generates values for schemas from one seed: mostly valid ones, and changed ones that are
    mostly invalid."""

    def __init__(self, openapi, seed):
        self.openapi = openapi
        self.random = random.Random(seed)

    def value(self, schema, depth=0):
        schema = self.openapi.resolve(schema)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                merged = {k: v for k, v in schema.items() if k != key}
                chosen = self.openapi.resolve(self.random.choice(schema[key]))
                return self.value(_merge(merged, chosen), depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        return getattr(self, f"_{kind}", self._anything)(schema, depth)

    def changed(self, value):
        """Returns a copy with one place replaced, removed or repeated."""
        value = copy.deepcopy(value)
        places = list(_places(value))
        if not places:
            return [value]
        container, key = self.random.choice(places)
        match self.random.randrange(4):
            case 0:
                del container[key]
            case 1 if isinstance(container[key], list) and container[key]:
                container[key] = container[key] * 2
            case _:
                container[key] = self.random.choice(_VALUES + _TEXTS)
        return value

    def _anything(self, _schema, _depth):
        return self.random.choice(_VALUES)

    def _null(self, _schema, _depth):
        return None

    def _boolean(self, _schema, _depth):
        return self.random.random() < 0.5

    def _integer(self, schema, _depth):
        low = schema.get("minimum", -5)
        return self.random.choice([low, schema.get("maximum", low + 50), low + 1])

    def _number(self, schema, depth):
        return self._integer(schema, depth)

    def _string(self, schema, _depth):
        if "examples" in schema:
            return self.random.choice(schema["examples"])
        if schema.get("pattern") or schema.get("minLength"):
            return "".join(self.random.choices(string.ascii_letters, k=8))
        return self.random.choice(_TEXTS)

    def _array(self, schema, depth):
        low = schema.get("minItems", 0)
        count = low if depth > _DEPTH_MAX else self.random.randint(low, low + 2)
        return [self.value(schema.get("items", {}), depth + 1) for _ in range(count)]

    def _object(self, schema, depth):
        required = schema.get("required", [])
        return {
            name: self.value(member, depth + 1)
            for name, member in schema.get("properties", {}).items()
            if name in required or (depth < _DEPTH_MAX and self.random.random() < 0.6)
        }


def _merge(first, second):
    merged = first | second
    if "properties" in first and "properties" in second:
        merged["properties"] = first["properties"] | second["properties"]
    merged["required"] = first.get("required", []) + second.get("required", [])
    return merged


def _places(value):
    if not isinstance(value, (dict, list)):
        return
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        yield from _places(value[key])
