"""The model's script in each client scenario of the kit, and the declaration of its server."""


def _nothing(_):
    return []


def _fixed(*calls):
    return lambda _: list(calls)


def _everything(tools):
    """Calls each offered tool, with a value for each required argument."""
    return [
        (name, {argument: "x" for argument in schema.get("required", [])})
        for name, schema in tools.items()
    ]


def _echo_schema(tools):
    """Returns the schema as the model received it."""
    return [("json_schema_echo", {"schema": tools.get("json_schema_2020_12_tool", {})})]


def _without_nulls(arguments):
    """Removes null arguments: the kit passes null for a boolean, which does not match its own
    schema."""
    return {name: value for name, value in arguments.items() if value is not None}


def _script_of_context(context):
    calls = [(call["name"], _without_nulls(call["arguments"])) for call in context["toolCalls"]]
    return _fixed(*calls)


_SCRIPTS = {
    "initialize": _nothing,
    "tools_call": _fixed(("add_numbers", {"a": 5, "b": 3})),
    "elicitation-sep1034-client-defaults": _fixed(("test_client_elicitation_defaults", {})),
    "sse-retry": _fixed(("test_reconnection", {})),
    "request-metadata": _nothing,
    "sep-2322-client-request-state": _fixed(
        ("test_mrtr_echo_state", {}),
        ("test_mrtr_unrelated", {}),
        ("test_mrtr_no_state", {}),
        ("test_mrtr_no_result_type", {}),
    ),
    "http-standard-headers": _everything,
    "http-invalid-tool-headers": _everything,
    "json-schema-ref-no-deref": _nothing,
    "json-schema-2020-12-preservation": _echo_schema,
}


def script_of(scenario, context):
    if scenario == "http-custom-headers":
        return _script_of_context(context)
    if scenario.startswith("auth/"):
        return _fixed(("test-tool", {}))
    return _SCRIPTS.get(scenario, _nothing)


def server_keys(scenario, context):
    """Returns additional keys of the server in the graph, and variables of its environment."""
    keys, variables = {}, {}
    if scenario.startswith("elicitation-"):
        # This server asks on the session's own stream, and without event ids. So each call has a
        # session of its own, and is made again with the answer.
        keys |= {"session_per_call": True, "elicitation": "repeat"}
    if scenario.startswith("auth/"):
        # The client id that an operator has registered in advance.
        oauth = {"client_id": context.get("client_id", "conformance-test-client")}
        if "private_key_pem" in context:
            oauth["private_key"] = "${PRIVATE_KEY}"
            variables["PRIVATE_KEY"] = context["private_key_pem"].strip().replace("\n", "\\n")
        else:
            oauth["client_secret"] = "${CLIENT_SECRET}"
            variables["CLIENT_SECRET"] = context.get("client_secret", "a-registered-secret")
        keys["oauth"] = oauth
    return keys, variables
