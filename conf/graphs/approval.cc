// Asks a person before an action that cannot be undone: the run pauses, and the next message on the
// thread is the answer; only "yes" approves. approval.json does the same without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared approval.cc -o approval.so
#include <agent_graph/agent_graph.h>
#include <agent_graph/json.h>

using namespace agent_graph;

static ToolOutput Transfer(const json& arguments, ToolContext& context) {
  // A real tool would pass idempotency_key() to the bank: a call that is repeated after a crash has
  // the same key.
  return json{{"transferred", arguments.at("amount")},
              {"to", arguments.at("to")},
              {"reference", context.idempotency_key()}};
}

// The question for the person; clients receive it as execution_meta.interrupt.
static NodeResult Ask(const State& state, RunContext&) {
  json calls = json::array();
  for (const ToolCallBlock* call : state.PendingToolCalls()) {
    calls.push_back({{"tool", call->name}, {"arguments", json::parse(call->arguments_json)}});
  }
  NodeResult result;
  result.interrupt = Interrupt{"needs approval", json{{"calls", calls}}.dump()};
  return result;
}

// Runs when the thread is invoked again, so the last message is the answer.
static NodeResult Decide(const State& state, RunContext&) {
  if (state.LastUserText() == "yes") return NodeResult().GoTo("TOOLS");
  NodeResult denied;
  for (const ToolCallBlock* call : state.PendingToolCalls()) {
    denied.Add(Message::ToolResult(call->id, R"({"error":"the user did not allow this"})", true));
  }
  return denied.GoTo("MAIN");
}

static void Build(GraphBuilder& graph) {
  Tool transfer{.name = "transfer",
                .description = "Sends money.",
                .parameters_json = R"({"type":"object","required":["to","amount"],"properties":{
                             "to":{"type":"string"},"amount":{"type":"number"}}})",
                .function = Transfer};

  graph.SetName("approval");
  graph.AddAgent("MAIN", {.system_prompt = "You help with payments. The user is asked for "
                                           "permission before money is sent.",
                          .tool_node = "TOOLS"});
  graph.AddFunction("ASK", Ask, Execution::kNonBlocking);
  graph.AddFunction("DECIDE", Decide, Execution::kNonBlocking);
  graph.AddToolNode("TOOLS", {transfer});
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", ToolCallsPending("ASK"), {"ASK", END});
  graph.AddEdge("ASK", "DECIDE").AddGoTo("DECIDE", {"TOOLS", "MAIN"});
  graph.AddEdge("TOOLS", "MAIN");
}

AGENT_GRAPH_EXPORT(app, Build)
