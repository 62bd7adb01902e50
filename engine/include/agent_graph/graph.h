// GraphBuilder: builds an agent from nodes and edges.
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

// Returns the next node, which must be one of the edge's targets. It runs on the engine thread, so
// it must only read the state and must not block. If it throws or returns any other name, the run
// ends with an error.
using Predicate = std::function<std::string(const State& state)>;

// The usual predicate after an agent. Returns `tool_node` while the newest assistant message has
// tool calls without a result, and `otherwise` after that.
AGENT_GRAPH_API Predicate ToolCallsPending(std::string tool_node, std::string otherwise = END);

// How a new value of a state field is combined with the current one.
enum class Reducer : uint8_t {
  kReplace,  // the new value replaces the current one
  kAppend,   // lists: appends the elements of an array, or one other value
  kCustom,   // StateField::custom
  kUnion,    // like kAppend, but skips elements that are already in the list
  // The next four: null changes nothing; a value of any other type ends the run with an error.
  kSum,    // numbers: the sum; it stays an integer if both are integers
  kMin,    // numbers: the smaller one
  kMax,    // numbers: the larger one
  kMerge,  // objects: merged recursively; a member whose new value is null is removed
};

// Returns the new value of a field. `current` is null if there is neither a value nor a default.
// Runs on the engine thread: it must be short and must not block.
// An exception ends the run with an error.
using ReducerFunction = std::function<json(const json& current, const json& update)>;

// A custom field of the state, in addition to the messages and the summary.
struct StateField {
  std::string name = {};
  Reducer reducer = Reducer::kReplace;
  ReducerFunction custom = {};  // for Reducer::kCustom; runs on the engine thread, must not block
  // Initial value as JSON text. If it is null: [] for kAppend and kUnion, 0 for kSum, {} for
  // kMerge.
  std::string default_json = "null";
  // JSON Schema of the field, for GET /v1/graph:StateSchema. Values are not checked against it.
  std::string schema_json = "{}";
};

inline constexpr std::chrono::milliseconds kFunctionTimeoutDefault{300'000};

// Retries of a node that failed: a function that threw or timed out, or a model that did not
// answer. A node that has already streamed text to the client is not retried, because the client
// would see that text twice.
struct RetryPolicy {
  int attempts_max = 1;                  // including the first attempt
  std::chrono::milliseconds delay{200};  // before the second attempt
  double factor = 2;                     // each delay is the previous one times this factor
  std::chrono::milliseconds delay_max{10'000};
};

// How much of the conversation the models receive. The limits count from the newest message back;
// the window is cut before a user message and always includes the newest user message. Tokens are
// estimated as four bytes each.
struct ContextPolicy {
  size_t messages_max = 0;  // 0: no limit
  size_t tokens_max = 0;    // 0: no limit
  // At the end of a run that exceeded a limit, the oldest half of the working window leaves it, and
  // a model writes a summary of it to context_summary. Agents receive that summary.
  bool summarize = false;
  std::string summary_model = "default";  // a key of `models` in service.json
  std::string summary_prompt = {};        // prompt for that model; empty: the built-in prompt
};

// Collects nodes and edges. Mistakes do not throw: Problems() lists them, and a service refuses to
// start with a graph that has any. Not thread-safe. Functions that add or set return *this.
class AGENT_GRAPH_API GraphBuilder {
 public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // The name in logs and traces, as a model of OpenAI's API and as a tool of MCP. Default: the name
  // of the exported attribute.
  GraphBuilder& SetName(std::string name);

  // The next four functions add a node; `name` must be unique in the graph, 1 to 128 bytes, without
  // '/'. `timeout` limits one attempt of the function.
  GraphBuilder& AddFunction(std::string name, NodeFunction function,
                            Execution execution = Execution::kBlocking,
                            std::chrono::milliseconds timeout = kFunctionTimeoutDefault);
  GraphBuilder& AddAgent(std::string name, Agent agent);
  GraphBuilder& AddLiveAgent(std::string name, LiveAgent agent);
  GraphBuilder& AddToolNode(std::string name, std::vector<Tool> tools);
  // Adds tools to a tool node that was added before. C++, HTTP and remote tools of a node must have
  // different names. If MCP servers offer a name that is already used, the first one in this order
  // is used: C++ tools, HTTP tools, MCP servers in the order they were added, remote tools.
  GraphBuilder& AddHttpTool(const std::string& tool_node, HttpTool tool);
  GraphBuilder& AddMcpServer(const std::string& tool_node, McpServer server);
  GraphBuilder& AddRemoteTool(const std::string& tool_node, RemoteTool tool);

  // START has exactly one outgoing edge or conditional edge, every node at most one. A run ends
  // after a node without an outgoing edge.
  GraphBuilder& AddEdge(std::string from, std::string to);
  // `predicate` chooses one of `targets`.
  GraphBuilder& AddConditionalEdge(std::string from, Predicate predicate,
                                   std::vector<std::string> targets);
  // Declares nodes that GoTo of a function node may jump to without an edge, so that they count as
  // reachable.
  GraphBuilder& AddGoTo(std::string from, std::vector<std::string> targets);

  // Declares a custom state field. Its name must not be that of a built-in field ("context",
  // "context_summary", "execution_meta") or of another field.
  GraphBuilder& AddField(StateField field);

  // Adds a copy of `graph` as one node: a run enters at its START and leaves at its END. It works
  // on the same messages and fields. Its nodes are called "name/node" in logs and traces.
  GraphBuilder& AddSubgraph(std::string name, const GraphBuilder& graph);

  // Sets the retry policy of a function or agent node that was added before.
  GraphBuilder& SetRetry(const std::string& node, RetryPolicy retry);
  // A function or agent node that was added before is not executed again by another worker: if its
  // worker dies in it, the run ends with reason worker_lost. Retries within a worker are not
  // affected.
  GraphBuilder& SetOnce(const std::string& node);
  // Limits one attempt of a node that was added before; a run that exceeds the limit ends with an
  // error.
  GraphBuilder& SetTimeout(const std::string& node, std::chrono::milliseconds timeout);

  // Limits the conversation that models receive; a second call replaces the policy.
  GraphBuilder& SetContext(ContextPolicy policy);

  // The run pauses before (after) these nodes. The next invoke on the thread continues it.
  GraphBuilder& InterruptBefore(std::vector<std::string> nodes);
  GraphBuilder& InterruptAfter(std::vector<std::string> nodes);

  // All mistakes in the graph, one sentence each; empty if the graph is valid.
  std::vector<std::string> Problems() const;

  // For the server.
  const graph::GraphDefinition& definition() const { return *definition_; }

 private:
  std::unique_ptr<graph::GraphDefinition> definition_;
};

}  // namespace agent_graph
