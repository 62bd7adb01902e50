"""AG-UI: runs that pause and the answers in `resume`; the state that agent and client share."""

import concurrent.futures
import json

import pytest

from harness.agents import DEMO, behaviour
from harness.agui import PATH, answer_to, error, events, messages_of, of_type, run_input, text, types, user
from harness.messages import texts
from harness.tool_graph import asks, tool_graph


@pytest.fixture
def service(start_service):
    return start_service(DEMO)


def _post(service, *messages, **fields):
    return events(service.post(PATH, run_input(*messages, **fields)))


def _outcome(found):
    assert found[-1]["type"] == "RUN_FINISHED", found[-1]
    return found[-1].get("outcome")


# Interrupts


def _pause(service):
    question = user("pay", "u1")
    found = _post(service, question)
    outcome = _outcome(found)
    assert outcome["type"] == "interrupt"
    (interrupt,) = outcome["interrupts"]
    return question, found, interrupt


def test_an_interrupt_of_a_long_thread_removes_no_older_message(start_service):
    """A list of the newest messages would remove the others from the client."""
    service = start_service(behaviour("asking"))
    history = [user(f"m{number}", f"id{number}") for number in range(1001)]
    for first in range(0, len(history), 500):
        messages = [{"role": "user", "content": m["content"], "message_id": m["id"]} for m in history[first : first + 500]]
        assert service.post("/v1/threads/t/messages", {"messages": messages}).status == 200
    found = _post(service, *history, user("pay", "u1"))
    assert _outcome(found)["type"] == "interrupt" and not of_type(found, "MESSAGES_SNAPSHOT")


def test_an_interrupt_is_answered_by_resume(start_service):
    service = start_service(behaviour("asking"))
    question, found, interrupt = _pause(service)
    assert interrupt["reason"] == "confirmation" and interrupt["message"] == "needs a yes"
    assert interrupt["metadata"]["data"] == {"about": "pay"}
    history = of_type(found, "MESSAGES_SNAPSHOT")[-1]["messages"]
    assert [m["content"] for m in history] == ["pay", "Really?"]
    found = _post(service, *history, resume=[answer_to(interrupt, {"approved": True})], run="second")
    assert text(found) == "you said yes" and _outcome(found) == {"type": "success"}
    again = _post(service, *history, resume=[answer_to(interrupt, {"approved": True})], run="second")
    assert messages_of(again)[-1]["content"] == "you said yes", "a repeated answer shows the same run"
    assert len(service.get("/v1/threads/t/runs").json()["data"]["runs"]) == 2
    late = _post(service, *history, resume=[answer_to(interrupt, "no")])
    assert late[-1]["code"] == "UNKNOWN_INTERRUPT"


def test_an_answer_that_is_given_twice_counts_once(start_service):
    service = start_service(behaviour("asking"), workers=2)
    question, _, interrupt = _pause(service)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        resume = [answer_to(interrupt, "yes")]
        found = list(pool.map(lambda _: _post(service, question, resume=resume), range(4)))
    assert "you said yes" in [text(one) for one in found]
    assert all(text(one) == "you said yes" or one[-1]["code"] == "UNKNOWN_INTERRUPT" for one in found)
    stored = service.get("/v1/threads/t/messages").json()["data"]["messages"]
    assert texts(stored) == ["pay", "Really?", "yes", "you said yes"]


@pytest.mark.parametrize(
    "payload, status, said",
    [("later", "resolved", "later"), ({"approved": False}, "resolved", "no"), ({"message": "m"}, "resolved", "m"),
     ({"approved": False, "message": "yes"}, "resolved", "no"), (None, "cancelled", "cancelled")],
)
def test_answers_become_messages(start_service, payload, status, said):
    service = start_service(behaviour("asking"))
    question, _, interrupt = _pause(service)
    found = _post(service, question, resume=[answer_to(interrupt, payload, status)])
    assert text(found) == f"you said {said}"


def test_answers_that_do_not_fit_leave_the_thread_waiting(start_service):
    service = start_service(behaviour("asking"))
    question, _, interrupt = _pause(service)
    other = {"id": "other"}
    for fields, code in (
        ({}, "UNANSWERED_INTERRUPT"),
        ({"resume": [answer_to(other, "yes")]}, "UNKNOWN_INTERRUPT"),
        ({"resume": [answer_to(interrupt, "yes"), answer_to(other, "yes")]}, "UNKNOWN_INTERRUPT"),
        ({"resume": [answer_to(interrupt, "yes"), answer_to(interrupt, "no")]}, "INVALID_ANSWER"),
        ({"resume": [answer_to(interrupt, {"approved": "yes"})]}, "INVALID_ANSWER"),
    ):
        found = _post(service, question, "and more", **fields)
        assert types(found) == ["RUN_STARTED", "RUN_ERROR"] and found[-1]["code"] == code
    # A reader is shown what the thread waits for.
    assert _outcome(_post(service))["interrupts"] == [interrupt]
    assert text(_post(service, question, resume=[answer_to(interrupt, "yes")])) == "you said yes"
    nothing = _post(service, "new", resume=[answer_to(interrupt, "yes")], thread="new")
    assert nothing[-1]["code"] == "UNKNOWN_INTERRUPT"
    assert service.get("/v1/threads/new").status == 404


# Questions of tools


@pytest.fixture
def registering(make_service, start_mock_provider, start_mcp_peer):
    """An agent whose tool asks the user for a name."""
    mock = start_mock_provider(asks("register", ("register", {})))
    peer = start_mcp_peer(eras=["session"], events=True)
    model = {"provider": "openai", "model": "m", "base_url": mock.base_url}
    graph = json.dumps(tool_graph(mcp_servers=[{"name": "peer", "url": peer.url}]))
    return make_service({"agent": "g.json:app", "models": {"default": model}}, files={"g.json": graph}).start()


def test_a_tool_asks_the_user(registering):
    question = user("register")
    found = _post(registering, question)
    (interrupt,) = _outcome(found)["interrupts"]
    (call,) = of_type(found, "TOOL_CALL_START")
    assert interrupt["reason"] == "input_required" and interrupt["toolCallId"] == call["toolCallId"]
    assert interrupt["responseSchema"]["required"] == ["name"]
    wrong = _post(registering, question, resume=[answer_to(interrupt, {"name": 5})])
    assert wrong[-1]["code"] == "INVALID_ANSWER"
    found = _post(registering, question, resume=[answer_to(interrupt, {"name": "Eve"})])
    (result,) = of_type(found, "TOOL_CALL_RESULT")
    assert result["toolCallId"] == call["toolCallId"] and not of_type(found, "TOOL_CALL_START")
    assert "Eve" in result["content"] and text(found) == "done"
    late = _post(registering, question, "x", resume=[answer_to(interrupt, {"name": "Eve"})])
    assert late[-1]["code"] == "UNKNOWN_INTERRUPT"


def test_the_user_may_refuse_to_answer_a_tool(registering):
    question = user("register")
    (interrupt,) = _outcome(_post(registering, question))["interrupts"]
    found = _post(registering, question, resume=[answer_to(interrupt, status="cancelled")])
    assert of_type(found, "TOOL_CALL_RESULT") and text(found) == "done"


# State

_TITLE = "May " * 100
_COUNTING = {
    "app": {
        "nodes": [
            {"name": "A", "type": "reply", "text": "a", "set": {"count": 1, "log": "a", "plan": {"x": {"y": 1}}}},
            {"name": "B", "type": "reply", "text": "b", "set": {"count": 2, "log": "b", "plan": {"x": {"z": 2}}}},
        ],
        "edges": [{"from": "START", "to": "A"}, {"from": "A", "to": "B"}],
        "fields": {"count": {"reducer": "sum"}, "log": {"reducer": "append"}, "plan": {"reducer": "merge"}},
    }
}


def _patched(state, patch):
    for operation in patch:
        *path, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        place = state
        for part in path:
            place = place[int(part)] if isinstance(place, list) else place[part]
        if isinstance(place, list):
            index = len(place) if last == "-" else int(last)
            if operation["op"] == "add":
                place.insert(index, operation["value"])
            else:
                place[index:index + 1] = [] if operation["op"] == "remove" else [operation["value"]]
        elif operation["op"] == "remove":
            del place[last]
        else:
            place[last] = operation["value"]
    return state


def _states(found):
    states = []
    for event in found:
        if event["type"] == "STATE_SNAPSHOT":
            states.append(event["snapshot"])
        if event["type"] == "STATE_DELTA":
            states.append(_patched(json.loads(json.dumps(states[-1])), event["delta"]))
    return states


@pytest.mark.parametrize("way", ["cancel", "continue"])
def test_the_state_is_shared(start_service, way):
    service = start_service({"agent": "g.json:app"}, files={"g.json": json.dumps(_COUNTING)})
    props = {"config": {"on_disconnect": way}}
    found = _post(service, "go", state={"title": _TITLE, "count": 5}, forwardedProps=props)
    states = _states(found)
    assert states[0] == {"title": _TITLE, "count": 5}
    assert states[-1] == {"title": _TITLE, "count": 8, "log": ["a", "b"], "plan": {"x": {"y": 1, "z": 2}}}
    kinds = types(found)
    assert kinds.index("STATE_SNAPSHOT") < kinds.index("TEXT_MESSAGE_START")
    # The client sends the state back.
    found = _post(service, *messages_of(found), "again", state=states[-1], forwardedProps=props)
    assert _states(found)[0] == states[-1] and _states(found)[-1]["count"] == 11
    assert of_type(found, "STATE_DELTA"), "what has changed, not all of it"
    assert _states(found)[-1]["log"] == ["a", "b", "a", "b"]
    read = _post(service)
    assert _states(read) == [_states(found)[-1]]


def test_a_state_that_is_no_object_is_refused(service):
    for state in ([1], "text", 5):
        reply = service.post(PATH, run_input("hello", state=state))
        assert reply.status == 422 and error(reply)["details"][0]["loc"] == ["body", "state"]
    for state in (None, {}, ""):
        assert text(_post(service, "hello", state=state, thread="other"))
