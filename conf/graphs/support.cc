// The sample agent: a model with tools. It asks before it stores something about the user.
// support.json next to it is the same graph without code.
//
//   g++ -std=c++20 -O2 -fPIC -shared support.cc -o support.so
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <ctime>

using namespace agent_graph;

static ToolOutput CurrentTime(const json& arguments, ToolContext&) {
  int64_t offset_minutes = arguments.value("utc_offset_minutes", 0);
  std::time_t now = std::time(nullptr) + offset_minutes * 60;
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  return json{{"time", text}, {"utc_offset_minutes", offset_minutes}};
}

// The node after the model: "remember" needs the user's permission.
static std::string AfterModel(const State& state) {
  const std::vector<const ToolCallBlock*> calls = state.PendingToolCalls();
  for (const ToolCallBlock* call : calls) {
    if (call->name == "remember") return "ASK";
  }
  return calls.empty() ? END : "TOOL";
}

static NodeResult Ask(const State&, RunContext&) {
  return NodeResult().Pause("May I store this? Answer yes or no.");
}

// The user's answer is the newest message.
static std::string AfterAnswer(const State& state) {
  const bool allowed = state.LastUserText().find("yes") != std::string::npos;
  return allowed ? "TOOL" : "DENIED";
}

static NodeResult Deny(const State& state, RunContext&) {
  NodeResult denied;
  for (const ToolCallBlock* call : state.PendingToolCalls()) {
    denied.Add(Message::ToolResult(call->id, R"({"error":"the user did not allow this"})", true));
  }
  return denied;
}

static void Build(GraphBuilder& graph) {
  Tool current_time{
      .name = "current_time",
      .description = "The current date and time, in ISO 8601.",
      .parameters_json =
          R"({"type":"object","properties":{"utc_offset_minutes":{"type":"integer"}}})",
      .function = CurrentTime,
      .idempotent = true,
      .execution = Execution::kNonBlocking};

  graph.SetName("support");
  graph.AddAgent("MAIN", {.model = "default",
                          .system_prompt = "You are a friendly support agent. Answer briefly.",
                          .tool_node = "TOOL"});
  graph.AddToolNode("TOOL", {current_time, BuiltinTool("calculator"), BuiltinTool("remember"),
                             BuiltinTool("recall")});
  graph.AddFunction("ASK", Ask, Execution::kNonBlocking);
  graph.AddFunction(
      "DECIDE", [](const State&, RunContext&) { return NodeResult(); }, Execution::kNonBlocking);
  graph.AddFunction("DENIED", Deny, Execution::kNonBlocking);
  graph.AddEdge(START, "MAIN");
  graph.AddConditionalEdge("MAIN", AfterModel, {"ASK", "TOOL", END});
  graph.AddEdge("ASK", "DECIDE");
  graph.AddConditionalEdge("DECIDE", AfterAnswer, {"TOOL", "DENIED"});
  graph.AddEdge("TOOL", "MAIN");
  graph.AddEdge("DENIED", "MAIN");
}

AGENT_GRAPH_EXPORT(app, Build)
