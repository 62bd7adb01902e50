#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "agent_graph/testing.h"
#include "base/json.h"
#include "base/text_position.h"
#include "graph/compiled_graph.h"
#include "graph/declarative.h"
#include "graph/shared_object.h"
#include "memory/embedder.h"
#include "memory/memory_store.h"
#include "message/codec.h"
#include "run/loop/runner.h"
#include "run/nodes/remote_tools.h"
#include "runtime/runtime.h"
#include "testing/fake_model.h"
#include "testing/fake_tools.h"
#include "testing/memory_state.h"

namespace agent_graph::graph_test {
namespace {

void ThrowIfFailed(const Status& status) {
  if (!status.ok()) throw std::invalid_argument(status.message());
}

std::unique_ptr<memory::Embedder> MakeHashEmbedder() {
  auto embedder = memory::MakeEmbedder({}, {});
  ThrowIfFailed(embedder.status());
  return *std::move(embedder);
}

// Collects what a client would receive.
class StreamedTexts : public run::RunSink {
 public:
  Status OnStart(const run::RunStart&) override { return Status::Ok(); }
  Status OnEvent(const run::RunEvent&) override { return Status::Ok(); }
  Status OnDelta(const run::RunDelta& delta) override {
    if (!delta.text.empty()) texts.emplace_back(delta.text);
    return Status::Ok();
  }
  bool wants_deltas() const override { return true; }
  bool wants_states() const override { return false; }

  std::vector<std::string> texts;
};

std::optional<Pause> PauseOf(const json& state) {
  const json& meta = state.at("execution_meta");
  if (!meta.value("is_interrupted", false)) return std::nullopt;
  const json interrupt = meta.value("interrupt", json::object());
  return Pause{.node = interrupt.value("node", ""),
               .reason = interrupt.value("reason", ""),
               .data = interrupt.value("data", json())};
}

json FieldsOf(const json& state) {
  json fields = json::object();
  for (const auto& [name, value] : state.items()) {
    if (!graph::IsBuiltInField(name)) fields[name] = value;
  }
  return fields;
}

}  // namespace

struct TestGraph::Implementation {
  Implementation() : embedder(MakeHashEmbedder()), memories(state.backend(), *embedder) {
    ThrowIfFailed(engine.Start());
  }
  ~Implementation() { (void)engine.Stop(kNoDeadline); }

  // The builder's own definition, before it is compiled.
  graph::GraphDefinition& definition() {
    return const_cast<graph::GraphDefinition&>(builder.definition());
  }

  void PrepareTools() { nodes_with_servers = RemoveToolSources(definition()); }

  FakeModel& ModelOf(const std::string& model_name) {
    const MutexLock lock(mutex);
    return fake_models[model_name];
  }

  void Compile() {
    if (runner != nullptr) return;
    auto compiled = graph::CompiledGraph::Compile(builder, name);
    ThrowIfFailed(compiled.status());
    remote_tools = std::make_unique<run::RemoteTools>(run::DeclaredRemoteTools(**compiled),
                                                      &state.backend(), "test", run::LogFunction());
    run::Runner::Options options;
    options.remote_tools = remote_tools.get();
    options.services.memories = &memories;
    options.services.find_model = [this](const std::string& model) -> models::ModelProvider* {
      return &ModelOf(model).implementation();
    };
    runner = std::make_unique<run::Runner>(*std::move(compiled), &state.backend(), engine,
                                           std::move(options));
  }

  RunResult ResultOf(const run::RunOutcome& outcome, const std::string& thread_id) {
    const json after = json::parse(outcome.state_json);
    RunResult result;
    if (outcome.status == run::RunStatus::kError) result.error = outcome.error.message();
    result.pause = PauseOf(after);
    result.fields = FieldsOf(after);
    std::set<std::string>& known = known_messages[thread_id];
    for (const json& text : json::parse(outcome.messages_json)) {
      const Result<Message> message = message::FromJsonText(text.dump());
      ThrowIfFailed(message.status());
      result.messages.push_back(*message);
    }
    const auto first_new = std::ranges::find_if(
        result.messages, [&](const Message& message) { return !known.contains(message.id); });
    result.messages_before = static_cast<size_t>(first_new - result.messages.begin());
    for (const Message& message : result.messages) known.insert(message.id);
    return result;
  }

  std::string name = "test";
  runtime::Runtime engine{{.threads = 1, .name = "test"}};
  MemoryState state;
  std::unique_ptr<memory::Embedder> embedder;
  memory::MemoryStore memories;
  GraphBuilder builder;
  std::vector<std::string> nodes_with_servers;
  Mutex mutex;
  std::map<std::string, FakeModel> fake_models AG_GUARDED_BY(mutex);

  std::shared_ptr<ToolCallRecord> tool_calls = std::make_shared<ToolCallRecord>();
  std::map<std::string, std::set<std::string>> known_messages;  // ids, by thread
  std::unique_ptr<run::RemoteTools> remote_tools;
  std::unique_ptr<run::Runner> runner;
};

TestGraph::TestGraph(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}

TestGraph::TestGraph(const std::function<void(GraphBuilder&)>& build)
    : implementation_(std::make_unique<Implementation>()) {
  build(implementation_->builder);
  implementation_->PrepareTools();
}

TestGraph TestGraph::Load(const std::string& agent) {
  auto made = std::make_unique<Implementation>();
  const size_t colon = agent.rfind(':');
  if (colon == std::string::npos) {
    throw std::invalid_argument(agent + ": needs the name of a graph, such as graph.json:app");
  }
  const std::string file = std::filesystem::absolute(agent.substr(0, colon)).string();
  made->name = agent.substr(colon + 1);
  Status status;
  if (file.ends_with(".json")) {
    std::ifstream in(file, std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    if (!in) throw std::invalid_argument(file + ": cannot be read");
    status = graph::ReadDocument(text, made->name, made->builder);
  } else {
    status = graph::BuildFromSharedObject(file, nullptr, made->name, made->builder);
  }
  if (!status.ok()) throw std::invalid_argument(FileProblem(file, status));
  made->PrepareTools();
  return TestGraph(std::move(made));
}

TestGraph::~TestGraph() = default;
TestGraph::TestGraph(TestGraph&&) noexcept = default;
TestGraph& TestGraph::operator=(TestGraph&&) noexcept = default;

FakeModel& TestGraph::model(const std::string& name) {
  return implementation_->ModelOf(name);
}

TestGraph& TestGraph::FakeTool(const std::string& name, ToolFunction function) {
  const ToolFunction recorded = [name, record = implementation_->tool_calls,
                                 function = std::move(function)](const json& arguments,
                                                                 ToolContext& context) {
    record->Add(name, arguments);
    return function(arguments, context);
  };
  graph::GraphDefinition& definition = implementation_->definition();
  if (ReplaceTool(definition, name, recorded) > 0) return *this;
  if (implementation_->nodes_with_servers.empty()) {
    throw std::invalid_argument("the graph has no tool \"" + name + "\"");
  }
  AddTool(definition, implementation_->nodes_with_servers.front(),
          {.name = name, .description = "a tool of an MCP server", .function = recorded});
  return *this;
}

TestGraph& TestGraph::FakeTool(const std::string& name, const ToolOutput& output) {
  return FakeTool(name, [output](const json&, ToolContext&) { return output; });
}

std::vector<json> TestGraph::ToolCalls(const std::string& name) const {
  return implementation_->tool_calls->Of(name);
}

RunResult TestGraph::Run(const std::string& text, const std::string& thread_id) {
  return Run(std::vector<Message>{Message::User(text)}, thread_id);
}

RunResult TestGraph::Run(std::vector<Message> messages, const std::string& thread_id) {
  implementation_->Compile();
  run::RunRequest request;
  request.thread_id = thread_id;
  request.messages = std::move(messages);
  StreamedTexts sink;
  // Shared, because the fiber may still be in set_value when the future is ready.
  const auto done = std::make_shared<std::promise<Result<run::RunOutcome>>>();
  auto outcome = done->get_future();
  implementation_->engine.Spawn([&, done] {
    done->set_value(implementation_->runner->Execute(std::move(request), {}, sink));
  });
  const Result<run::RunOutcome> finished = outcome.get();
  if (!finished.ok()) return {.error = finished.status().message()};
  RunResult result = implementation_->ResultOf(*finished, thread_id);
  result.streamed = std::move(sink.texts);
  return result;
}

std::string RunResult::Text() const {
  const auto newest = std::find_if(messages.rbegin(), messages.rend(), [](const Message& message) {
    return message.role == Role::kAssistant;
  });
  return newest != messages.rend() ? newest->Text() : "";
}

std::vector<json> RunResult::ToolOutputs() const {
  std::vector<json> outputs;
  for (size_t i = messages_before; i < messages.size(); ++i) {
    for (const ToolResultBlock* result : messages[i].ToolResults()) {
      json output = json::parse(result->output_json);
      outputs.push_back(result->is_error ? json{{"error", std::move(output)}} : std::move(output));
    }
  }
  return outputs;
}

}  // namespace agent_graph::graph_test
