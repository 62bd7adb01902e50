// Graphs of the benchmarks.
#include <agent_graph/agent_graph.h>
#include <agent_graph/json.h>

#include <string>

using namespace agent_graph;

// The cheapest possible graph: one function node that answers at once. A benchmark with it measures
// everything around the graph.
static NodeResult Echo(const State& state, RunContext&) {
  return Message::Assistant("you said: " + state.LastUserText());
}

static void Build(GraphBuilder& graph) {
  graph.AddFunction("ECHO", Echo, Execution::kNonBlocking);
  graph.AddEdge(START, "ECHO");
  graph.AddEdge("ECHO", END);
}

AGENT_GRAPH_EXPORT(app, Build)

// Answers at once, or asks the model if the user says "stream" (bench/growth.py).
static std::string EchoOrModel(const State& state) {
  return state.LastUserText() == "stream" ? "MODEL" : "ECHO";
}

static void BuildBoth(GraphBuilder& graph) {
  graph.AddFunction("ECHO", Echo, Execution::kNonBlocking);
  graph.AddAgent("MODEL", {});
  graph.AddConditionalEdge(START, EchoOrModel, {"ECHO", "MODEL"});
  graph.AddEdge("ECHO", END);
  graph.AddEdge("MODEL", END);
}

AGENT_GRAPH_EXPORT(both, BuildBoth)

// Adds 64 pieces of 64 KiB to a list, one in each step (bench/readers.py).
static constexpr size_t kPieces = 64;
static constexpr size_t kPieceBytes = 64 * 1024;

static NodeResult Add(const State&, RunContext&) {
  return NodeResult().Set("pieces", std::string(kPieceBytes, 'p'));
}

static std::string Next(const State& state) {
  return state.Field("pieces").size() < kPieces ? "ADD" : "END_OF_LIST";
}

static NodeResult Answer(const State&, RunContext&) {
  return Message::Assistant("complete");
}

static void BuildList(GraphBuilder& graph) {
  graph.AddField({.name = "pieces", .reducer = Reducer::kAppend});
  graph.AddFunction("ADD", Add, Execution::kNonBlocking);
  graph.AddFunction("END_OF_LIST", Answer, Execution::kNonBlocking);
  graph.AddEdge(START, "ADD");
  graph.AddConditionalEdge("ADD", Next, {"ADD", "END_OF_LIST"});
}

AGENT_GRAPH_EXPORT(list, BuildList)
