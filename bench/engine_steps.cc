// Cost of the engine itself, without nginx, providers and disks: steps of a chain, turns of short
// and long threads, parallel tool calls. State is kept by a real state server with an in-memory
// database.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "agent_graph/graph.h"
#include "agent_graph/json.h"
#include "graph/compiled_graph.h"
#include "models/model.h"
#include "run/loop/runner.h"
#include "runtime/runtime.h"
#include "state/factory/factory.h"

namespace agent_graph {
namespace {

class NullSink : public run::RunSink {
 public:
  Status OnStart(const run::RunStart&) override { return Status::Ok(); }
  Status OnEvent(const run::RunEvent&) override { return Status::Ok(); }
  bool wants_deltas() const override { return false; }
  bool wants_states() const override { return false; }
};

// Calls `calls` tools after a user message, and answers with text after their results.
class CallingModel : public models::ModelProvider {
 public:
  explicit CallingModel(int calls) : calls_(calls) {}

  Result<models::ModelReply> Generate(
      const models::ModelRequest& request, const runtime::Cancellation&,
      const std::function<Status(const models::ModelDelta&)>&) override {
    models::ModelReply reply;
    reply.model = "bench";
    reply.message = Message::Assistant("done");
    if (request.messages.back().role != Role::kUser) return reply;
    for (int i = 0; i < calls_; ++i) {
      reply.message.content.emplace_back(
          ToolCallBlock{"call_" + std::to_string(i), "add", R"({"a":1,"b":2})"});
    }
    return reply;
  }

 private:
  const int calls_;
};

// An engine with one thread and, optionally, a state server.
class Engine {
 public:
  explicit Engine(const GraphBuilder& builder, int calls = 0, bool stored = false)
      : model_(calls), runtime_({.threads = 1, .name = "bench"}) {
    if (stored) StartState();
    run::Runner::Options options;
    options.services.find_model = [this](const std::string&) { return &model_; };
    runner_ = std::make_unique<run::Runner>(graph::CompiledGraph::Compile(builder, "bench").value(),
                                            client_.get(), runtime_, options);
    Check(runtime_.Start());
  }
  ~Engine() {
    Check(runtime_.Stop(DeadlineAfter(std::chrono::seconds(20))));
    if (client_ != nullptr) client_->Stop();
    if (server_ != nullptr) server_->Finish(DeadlineAfter(std::chrono::seconds(20)));
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  // Runs `body` on a fiber and waits for it.
  void OnFiber(const std::function<void()>& body) {
    std::promise<void> done;
    runtime_.Spawn([&] {
      body();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Call on a fiber.
  void Turn(const std::string& thread_id) {
    run::RunRequest request;
    request.thread_id = thread_id;
    request.messages = {Message::User("what is the weather like in Paris?")};
    NullSink sink;
    Result<run::RunOutcome> outcome =
        runner_->Execute(std::move(request), runtime::Cancellation(), sink);
    Check(outcome.ok() ? outcome->error : outcome.status());
  }

 private:
  static void Check(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    std::abort();
  }

  void StartState() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    state::StateOptions options;
    options.directory = directory_;
    options.type = "memory";
    server_ = state::StartStateServer(options).value();
    client_ = state::MakeBackend(options);
    Check(client_->Start());
  }

  CallingModel model_;
  std::string directory_;
  std::unique_ptr<state::StateServer> server_;
  std::unique_ptr<state::Backend> client_;
  runtime::Runtime runtime_;
  std::unique_ptr<run::Runner> runner_;
};

// Adds functions that only compute, connected in sequence.
void AddChain(GraphBuilder& builder, int nodes) {
  std::string before = START;
  for (int i = 0; i < nodes; ++i) {
    std::string name = "N" + std::to_string(i);
    builder.AddFunction(
        name, [](const State&, RunContext&) { return NodeResult(); }, Execution::kNonBlocking);
    builder.AddEdge(before, name);
    before = std::move(name);
  }
}

void Chain(benchmark::State& state) {
  const int nodes = static_cast<int>(state.range(0));
  GraphBuilder builder;
  AddChain(builder, nodes);
  Engine engine(builder);
  engine.OnFiber([&] {
    for (auto _ : state) engine.Turn("");
  });
  state.SetItemsProcessed(state.iterations() * nodes);
}
BENCHMARK(Chain)->Arg(1)->Arg(10)->ArgName("nodes")->UseRealTime();

void StoredChain(benchmark::State& state) {
  GraphBuilder builder;
  AddChain(builder, 10);
  Engine engine(builder, 0, /*stored=*/true);
  engine.OnFiber([&] {
    int64_t turn = 0;
    for (auto _ : state) engine.Turn("t" + std::to_string(turn++ % 64));
  });
  state.SetItemsProcessed(state.iterations() * 10);
}
BENCHMARK(StoredChain)->UseRealTime();

// One turn of a thread that already has so many turns. The window is full in both cases, so only
// the length of the history differs.
void TurnOfAThread(benchmark::State& state) {
  GraphBuilder builder;
  builder.AddFunction(
      "ECHO",
      [](const State& seen, RunContext&) -> NodeResult {
        return Message::Assistant("You said: " + seen.LastUserText());
      },
      Execution::kNonBlocking);
  builder.AddEdge(START, "ECHO");
  Engine engine(builder, 0, /*stored=*/true);
  engine.OnFiber([&] {
    for (int64_t turn = 0; turn < state.range(0); ++turn) engine.Turn("long");
    for (auto _ : state) engine.Turn("long");
  });
}
BENCHMARK(TurnOfAThread)->Arg(100)->Arg(1000)->ArgName("turns")->UseRealTime();

void ParallelToolCalls(benchmark::State& state) {
  const auto execution = static_cast<Execution>(state.range(0));
  const int calls = 100;
  Tool add{.name = "add",
           .function = [](const json& arguments, ToolContext&) -> ToolOutput {
             return json(arguments.at("a").get<int>() + arguments.at("b").get<int>());
           },
           .idempotent = true,
           .execution = execution};
  GraphBuilder builder;
  builder.AddAgent("MAIN", {.tool_node = "TOOLS"}).AddToolNode("TOOLS", {add});
  builder.AddEdge(START, "MAIN").AddEdge("TOOLS", "MAIN");
  builder.AddConditionalEdge("MAIN", ToolCallsPending("TOOLS"), {"TOOLS", END});
  Engine engine(builder, calls);
  engine.OnFiber([&] {
    for (auto _ : state) engine.Turn("");
  });
  state.SetItemsProcessed(state.iterations() * calls);
}
BENCHMARK(ParallelToolCalls)
    ->Arg(static_cast<int>(Execution::kBlocking))
    ->Arg(static_cast<int>(Execution::kNonBlocking))
    ->ArgName("non_blocking")
    ->UseRealTime();

}  // namespace
}  // namespace agent_graph

BENCHMARK_MAIN();
