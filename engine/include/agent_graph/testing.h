// Tests of graphs, without nginx and network: models and tools are fakes, the state is in memory,
// and everything else is what the server runs. Works with any test framework. Link with
// -lagent_graph_testing.
//
//   graph_test::TestGraph graph = graph_test::TestGraph::Load("weather.so:app");
//   graph.FakeTool("get_weather", "sunny");
//   graph.model().Calls("get_weather", {{"city", "Rome"}}).Says("It is sunny in Rome.");
//
//   graph_test::RunResult run = graph.Run("How is the weather in Rome?");
//
//   EXPECT_EQ(run.Text(), "It is sunny in Rome.");
//   EXPECT_EQ(graph.ToolCalls("get_weather")[0], json({{"city", "Rome"}}));
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent_graph/export.h"
#include "agent_graph/graph.h"
#include "agent_graph/json.h"
#include "agent_graph/message.h"
#include "agent_graph/tool.h"

namespace agent_graph::graph_test {

// One call of a model, as the model receives it.
struct ModelPrompt {
  std::string system_prompt;
  std::vector<Message> messages;   // the working window, oldest first
  std::vector<std::string> tools;  // names
  json parameters;
};

// Replies with its script, in order. A call without a reply left fails. Thread-safe; functions that
// add replies return *this.
class AGENT_GRAPH_API FakeModel {
 public:
  FakeModel();
  ~FakeModel();
  FakeModel(const FakeModel&) = delete;
  FakeModel& operator=(const FakeModel&) = delete;

  // The next reply is a text. It is streamed word by word.
  FakeModel& Says(std::string text);
  // The next reply calls a tool, or several at once.
  FakeModel& Calls(std::string tool, json arguments = json::object());
  FakeModel& Calls(std::vector<std::pair<std::string, json>> calls);
  // The next call fails, as if the provider did not answer.
  FakeModel& Fails(std::string reason);

  // The calls so far, oldest first.
  std::vector<ModelPrompt> prompts() const;
  size_t replies_left() const;

  // For the library.
  struct Implementation;
  Implementation& implementation() { return *implementation_; }

 private:
  std::unique_ptr<Implementation> implementation_;
};

// Why a run has paused.
struct Pause {
  std::string node;
  std::string reason;
  json data;  // null without data
};

// A run after its end, which is also a pause or an error.
struct AGENT_GRAPH_API RunResult {
  std::string error;                   // empty: the run has not failed
  std::optional<Pause> pause = {};     // set: the next Run continues
  std::vector<Message> messages = {};  // the conversation after the run, oldest first
  size_t messages_before = 0;          // number of messages before this run
  json fields = {};                    // the state fields, an object
  // The pieces of text in the order in which a client gets them.
  std::vector<std::string> streamed = {};

  bool ok() const { return error.empty(); }
  // The text of the newest message of the assistant; empty if there is none.
  std::string Text() const;
  // The outputs of the tool calls of this run, in order. A failed one is {"error": output}.
  std::vector<json> ToolOutputs() const;
};

// A graph with its models and tools, and the conversations that it has had: each Run continues the
// conversation of its thread. Call it from one thread. Mistakes in the graph, and wrong names of
// tools, throw std::invalid_argument.
class AGENT_GRAPH_API TestGraph {
 public:
  // A graph that the test builds, such as `[](GraphBuilder& graph) { … }`.
  explicit TestGraph(const std::function<void(GraphBuilder&)>& build);
  // A graph as service.json names it: "graphs/support.json:app" or "graphs/support.so:app".
  static TestGraph Load(const std::string& agent);

  ~TestGraph();
  TestGraph(TestGraph&&) noexcept;
  TestGraph& operator=(TestGraph&&) noexcept;

  // The model of this name, as the graph uses it.
  FakeModel& model(const std::string& name = "default");

  // Replaces a tool of the graph, in C++ or over HTTP, or adds one in place of an MCP server. Call
  // it before the first Run. HTTP tools and MCP servers are never called: without a fake an HTTP
  // tool fails, and MCP servers have no tools. The argument checks of the original stay.
  TestGraph& FakeTool(const std::string& name, ToolFunction function);
  TestGraph& FakeTool(const std::string& name, const ToolOutput& output);
  // The arguments of the calls of a fake tool so far, oldest first.
  std::vector<json> ToolCalls(const std::string& name) const;

  // Runs the graph with a message of the user, or with other messages, such as the result of a tool
  // that the client runs, to its end. Also the way to answer a pause.
  RunResult Run(const std::string& text, const std::string& thread_id = "test");
  RunResult Run(std::vector<Message> messages, const std::string& thread_id = "test");

 private:
  struct Implementation;
  explicit TestGraph(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace agent_graph::graph_test
