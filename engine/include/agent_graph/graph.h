// GraphBuilder: nodes and edges into an agent.
//
//   void Build(GraphBuilder& graph) {
//     graph.AddAgent("MAIN", {.system_prompt = "You are helpful.", .tool_node = "TOOLS"});
//     graph.AddToolNode("TOOLS", {weather});
//     graph.AddEdge(START, "MAIN");
//     graph.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
//     graph.AddEdge("TOOLS", "MAIN");
//   }
//   AGENT_GRAPH_EXPORT(app, Build)
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent_graph/agent.h"
#include "agent_graph/execution.h"
#include "agent_graph/export.h"
#include "agent_graph/json_fwd.h"
#include "agent_graph/live_agent.h"
#include "agent_graph/node.h"
#include "agent_graph/state.h"
#include "agent_graph/tool.h"
#include "agent_graph/tool_sources.h"

namespace agent_graph {

namespace graph {
struct GraphDefinition;
}

inline constexpr char START[] = "__start__";
inline constexpr char END[] = "__end__";

// Picks the next node: one of the edge's targets. Runs on the engine thread, so it only looks at
// the state and decides. Throwing, or naming anything else, ends the run with an error.
using Predicate = std::function<std::string(const State& state)>;

// The usual predicate after an agent: to `tool_node` while the newest assistant message has calls
// without a result, else to `otherwise`.
AGENT_GRAPH_API Predicate ToolCallsPending(std::string tool_node, std::string otherwise = END);

// How a new value of a state field meets the current one.
enum class Reducer : uint8_t {
  kReplace,  // the new value
  kAppend,   // a list: an array is appended element by element, anything else as one element
  kCustom,   // your function
  kUnion,    // like kAppend, without elements that the list has already
  // With a new value of another kind the run ends with an error; null changes nothing.
  kSum,    // numbers: the sum; of integers an integer
  kMin,    // numbers: the smaller one
  kMax,    // numbers: the larger one
  kMerge,  // objects: member by member, deeply; a member that becomes null is removed
};

using ReducerFunction = std::function<json(const json& current, const json& update)>;

// A custom field of the state, next to the messages and the summary.
struct StateField {
  std::string name = {};
  Reducer reducer = Reducer::kReplace;
  ReducerFunction custom = {};  // with Reducer::kCustom; runs on the engine thread
  // With kAppend and kUnion an unset default is [], with kSum 0, with kMerge {}.
  std::string default_json = "null";
  std::string schema_json = "{}";  // JSON Schema of the field, for GET /v1/graph:StateSchema
};

inline constexpr std::chrono::milliseconds kFunctionTimeoutDefault{300'000};

// Whether a node that failed is tried again: a function that threw or took too long, a model that
// did not answer. Not after it has shown text to the client, which would see it twice.
struct RetryPolicy {
  int attempts_max = 1;                  // the first one included
  std::chrono::milliseconds delay{200};  // before the second attempt
  double factor = 2;                     // how each delay grows over the one before
  std::chrono::milliseconds delay_max{10'000};
};

// How much of a conversation the models see. Counted from the newest message and cut at a message
// of the user, whose newest is always seen. Tokens are estimated: four bytes each.
struct ContextPolicy {
  size_t messages_max = 0;  // 0: no limit
  size_t tokens_max = 0;    // 0: no limit
  // At the end of a run that went beyond a limit the oldest half leaves the working window, and a
  // model writes its summary to context_summary, which agents are told.
  bool summarize = false;
  std::string summary_model = "default";  // a key of `models` in service.json
  std::string summary_prompt = {};        // what that model is told; empty: ours
};

// Mistakes are collected, not thrown: Problems() lists them, and a service refuses to start with
// a graph that has any.
class AGENT_GRAPH_API GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // Shown in logs and traces; the exported attribute's name when not set.
  GraphBuilder& SetName(std::string name);

  GraphBuilder& AddFunction(std::string name, NodeFunction function,
                            Execution execution = Execution::kBlocking,
                            std::chrono::milliseconds timeout = kFunctionTimeoutDefault);
  GraphBuilder& AddAgent(std::string name, Agent agent);
  GraphBuilder& AddLiveAgent(std::string name, LiveAgent agent);
  GraphBuilder& AddToolNode(std::string name, std::vector<Tool> tools);
  // To a tool node that was added before. Of tools with the same name the first is used: yours,
  // then HTTP tools, then those of MCP servers in their order.
  GraphBuilder& AddHttpTool(const std::string& tool_node, HttpTool tool);
  GraphBuilder& AddMcpServer(const std::string& tool_node, McpServer server);
  // Comes after all of them.
  GraphBuilder& AddRemoteTool(const std::string& tool_node, RemoteTool tool);

  // Exactly one edge or one conditional edge leaves START and each node; a node from which none
  // leaves ends the run.
  GraphBuilder& AddEdge(std::string from, std::string to);
  GraphBuilder& AddConditionalEdge(std::string from, Predicate predicate,
                                   std::vector<std::string> targets);
  // Names what the function nodes' GoTo may reach beyond the edges, so that those nodes count as
  // reachable.
  GraphBuilder& AddGoTo(std::string from, std::vector<std::string> targets);

  GraphBuilder& AddField(StateField field);

  // `graph` as one node: entered at its START, left at its END. It works on the same messages and
  // fields; its nodes are called "name/node" in logs and traces. Copies what `graph` holds now.
  GraphBuilder& AddSubgraph(std::string name, const GraphBuilder& graph);

  // Of a function or agent node that was added before.
  GraphBuilder& SetRetry(const std::string& node, RetryPolicy retry);
  // How long one attempt of a node may take; past it the run ends with an error.
  GraphBuilder& SetTimeout(const std::string& node, std::chrono::milliseconds timeout);

  GraphBuilder& SetContext(ContextPolicy policy);

  // The run pauses before (after) these nodes; the next invoke on the thread continues.
  GraphBuilder& InterruptBefore(std::vector<std::string> nodes);
  GraphBuilder& InterruptAfter(std::vector<std::string> nodes);

  // Everything that is wrong with the graph, one clear sentence each; empty when it is fine.
  std::vector<std::string> Problems() const;

  const graph::GraphDefinition& definition() const { return *definition_; }

 private:
  std::unique_ptr<graph::GraphDefinition> definition_;
};

}  // namespace agent_graph
