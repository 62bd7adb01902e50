"""What users of LangChain's ChatOpenAI do. Usage: langchain_client.py SCENARIO BASE_URL KEY; prints
the result as JSON."""

import json
import sys

from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


def answer(model):
    reply = model.invoke([SystemMessage("be brief"), HumanMessage("plain")])
    return [reply.content, reply.usage_metadata["total_tokens"] > 0, reply.response_metadata["finish_reason"]]


def stream(model):
    pieces = list(model.stream("plain", stream_usage=True))
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    return [whole.content, whole.response_metadata["finish_reason"], whole.usage_metadata["total_tokens"] > 0]


def tools(model):
    """An agent's loop: the model calls the tool, and gets its result."""
    bound = model.bind_tools([get_weather])
    messages = [HumanMessage("weather")]
    reply = bound.invoke(messages)
    (call,) = reply.tool_calls
    messages += [reply, ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"])]
    return [call["name"], call["args"], bound.invoke(messages).text]


def responses(model):
    """The same over the Responses API."""
    over = ChatOpenAI(
        model="app", base_url=model.openai_api_base, api_key=model.openai_api_key, max_retries=0,
        use_responses_api=True,
    )
    reply = over.invoke([SystemMessage("be brief"), HumanMessage("plain")])
    whole = None
    for piece in over.stream("plain"):
        whole = piece if whole is None else whole + piece
    return [reply.text, reply.usage_metadata["total_tokens"] > 0, whole.text, tools(over)]


def responses_chained(model):
    """Sends only new messages, with the id of the previous response."""
    over = ChatOpenAI(
        model="app", base_url=model.openai_api_base, api_key=model.openai_api_key, max_retries=0,
        use_responses_api=True, use_previous_response_id=True,
    )
    messages = [HumanMessage("plain")]
    messages += [over.invoke(messages), HumanMessage("plain")]
    return over.invoke(messages).text


def main():
    scenario, base_url, key = sys.argv[1:]
    model = ChatOpenAI(model="app", base_url=base_url, api_key=key, max_retries=0)
    print(json.dumps({name: globals()[name](model) for name in scenario.split(",")}))


main()
