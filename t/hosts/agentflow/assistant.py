"""A graph of AgentFlow: an assistant without a model. Its state has fields of its own, it calls a tool,
and it pauses before a node. See make_dump.py."""

import os

from agentflow.core.graph import StateGraph, ToolNode
from agentflow.core.state import AgentState, Message, TextBlock, TokenUsages, ToolCallBlock
from agentflow.storage.checkpointer import PgCheckpointer
from agentflow.utils.constants import END


class Conversation(AgentState):
    city: str = ""
    visited: list[str] = []


def current_time(city: str) -> str:
    """Returns the time in a city."""
    return f"In {city} it is noon."


def _main(state, config):
    last = state.context[-1]
    text = last.text()
    if last.role == "user" and text.startswith("time in "):
        city = text.removeprefix("time in ")
        state.city = city
        state.visited.append(city)
        call_id = f"call-{last.message_id}"
        state.context.append(Message(
            role="assistant",
            content=[ToolCallBlock(id=call_id, name="current_time", args={"city": city})],
            tools_calls=[{
                "id": call_id,
                "type": "function",
                "function": {"name": "current_time", "arguments": f'{{"city": "{city}"}}'},
            }],
            usages=TokenUsages(completion_tokens=3, prompt_tokens=20, total_tokens=23),
        ))
        return state
    state.context_summary = "They talked." if "summary" in text else state.context_summary
    state.context.append(Message(role="assistant", content=[TextBlock(text=f"You said: {text}")]))
    return state


def _approve(state, config):
    state.context.append(Message.text_message("Approved.", role="assistant"))
    return state


def _after_main(state):
    last = state.context[-1]
    if last.tools_calls:
        return "TOOL"
    return "APPROVE" if "approve" in last.text() else END


graph = StateGraph(Conversation())
graph.add_node("MAIN", _main)
graph.add_node("TOOL", ToolNode([current_time]))
graph.add_node("APPROVE", _approve)
graph.add_conditional_edges(
    "MAIN", _after_main, {"TOOL": "TOOL", "APPROVE": "APPROVE", END: END}
)
graph.add_edge("TOOL", "MAIN")
graph.add_edge("APPROVE", END)
graph.set_entry_point("MAIN")

app = graph.compile(
    checkpointer=PgCheckpointer(postgres_dsn=os.environ["DATABASE"], redis_url=os.environ["REDIS"]),
    interrupt_before=["APPROVE"],
)
