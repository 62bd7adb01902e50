"""Every server scenario of the kit that a revision requires, and those that it reports besides.

A scenario without a reason must pass. A scenario with a reason is expected to fail, and the reason
explains why; if it passes one day, the reason must be removed. Reasons may also be given for single
checks, by their ids: all others must pass."""

SESSION = "2025-11-25"
STATELESS = "2026-07-28"

_PROMPTS = "wants prompts; the agent has no prompts for its clients, and its list of them is empty"
_FIXED_RESOURCES = "wants resources with fixed addresses; the resources are the threads of the caller"
_SUBSCRIPTIONS = "wants news of a resource; clients read a thread when they need it"
_LOGGING = "wants log messages of a tool; the log of the service is its operator's"
_MODEL = "wants the client's model; the agent has models of its own"
_ROOTS = "wants the client's directories; the agent has no use for them"
_PROGRESS = (
    "wants reports of a tool of the graph; tools report no progress. Calls of the agent do: see "
    "t/http/test_mcp_server.py"
)
# One check fails, the others pass.
_STATELESS = {
    "sep-2575-server-rejects-undeclared-capability": (
        "wants the refusal of a tool that needs the client's model; the tool needs the client's user, "
        "and the refusal says so"
    )
}
_POLLING = "wants a tool that closes its own stream; streams stay open until the call is answered"
_TASKS = "wants the extension for tasks, which is not offered: calls are resumed, or runs watched natively"
_PARAMETER_HEADERS = "wants a tool with arguments in headers; tools of the graph take theirs from the body"

_BOTH = {
    "completion-complete": _PROMPTS,
    "tools-list": "",
    "tools-call-simple-text": "",
    "tools-call-image": "",
    "tools-call-audio": "",
    "tools-call-embedded-resource": "",
    "tools-call-mixed-content": "",
    "tools-call-error": "",
    "tools-call-with-progress": _PROGRESS,
    "server-sse-multiple-streams": "",
    "resources-list": "",
    "resources-read-text": _FIXED_RESOURCES,
    "resources-read-binary": _FIXED_RESOURCES,
    "resources-templates-read": _FIXED_RESOURCES,
    "prompts-list": "",
    "prompts-get-simple": _PROMPTS,
    "prompts-get-with-args": _PROMPTS,
    "prompts-get-embedded-resource": _PROMPTS,
    "prompts-get-with-image": _PROMPTS,
    "dns-rebinding-protection": "",
    "json-schema-2020-12": "",
}

SCENARIOS = {
    SESSION: _BOTH | {
        "server-initialize": "",
        "ping": "",
        "logging-set-level": _LOGGING,
        "tools-call-with-logging": _LOGGING,
        "tools-call-sampling": _MODEL,
        "tools-call-elicitation": "",
        "elicitation-sep1034-defaults": "",
        "elicitation-sep1330-enums": "",
        "resources-subscribe": _SUBSCRIPTIONS,
        "resources-unsubscribe": _SUBSCRIPTIONS,
        "server-session-lifecycle": "",
        "server-sse-polling": _POLLING,
    },
    STATELESS: _BOTH | {
        "server-stateless": _STATELESS,
        "sep-2164-resource-not-found": "",
        "caching": "",
        "http-header-validation": "",
        "http-custom-header-server-validation": _PARAMETER_HEADERS,
        "input-required-result-basic-elicitation": "",
        "input-required-result-basic-sampling": _MODEL,
        "input-required-result-basic-list-roots": _ROOTS,
        "input-required-result-request-state": "",
        "input-required-result-multiple-input-requests": _MODEL,
        "input-required-result-multi-round": "",
        "input-required-result-missing-input-response": "",
        "input-required-result-non-tool-request": _PROMPTS,
        "input-required-result-result-type": "",
        "input-required-result-unsupported-methods": "",
        "input-required-result-tampered-state": "",
        "input-required-result-capability-check": _MODEL,
        "input-required-result-ignore-extra-params": "",
        "input-required-result-validate-input": "",
    } | dict.fromkeys(
        (
            "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields",
            "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
            "tasks-dispatch-and-envelope", "tasks-status-notifications", "tasks-required-task-error",
            "tasks-mrtr-composition",
        ),
        _TASKS,
    ),
}
