// The memory of the calls of a live session.
#include "live/tool_calls.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>

#include "../../engine/state/fake_service.h"
#include "agent_graph/graph.h"
#include "runtime/runtime.h"

namespace agent_graph::live {
namespace {

constexpr size_t kOutputBytes = 100'000;

class CountedMemory final : public run::CallMemory {
 public:
  Status AwaitMemory(uint64_t bytes) override {
    held += bytes;
    return Status::Ok();
  }
  void HoldCalls(uint64_t bytes) override { held = bytes; }

  uint64_t held = 0;
};

class ToolCallsTest : public testing::Test {
 protected:
  ToolCallsTest() : runtime_({.threads = 1, .name = "test"}) {
    EXPECT_TRUE(runtime_.Start().ok());
    Tool tool;
    tool.name = "big";
    tool.execution = Execution::kNonBlocking;
    tool.function = [](const json&, ToolContext&) {
      return ToolOutput(std::string(kOutputBytes, 'x'));
    };
    GraphBuilder builder;
    builder.AddToolNode("TOOLS", {tool});
    builder.AddEdge(START, "TOOLS");
    auto graph = graph::CompiledGraph::Compile(builder, "test");
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    environment_ = std::make_shared<run::RunEnvironment>();
    environment_->graph = *graph;
    environment_->runtime = &runtime_;
    environment_->thread_id = "t";
    environment_->run_id = "run";
  }
  ~ToolCallsTest() override { EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok()); }

  // On a fiber.
  void RunWith(const std::function<void(ToolCalls& calls)>& test) {
    std::promise<void> ended;
    runtime_.Spawn([&] {
      const auto journal =
          std::make_shared<Journal>(Journal::Options{.environment = environment_, .node = "VOICE"});
      const auto calls = std::make_shared<ToolCalls>(journal, [] {}, &memory_);
      calls->Offer("TOOLS", run::ToolsOf(environment_->graph, "TOOLS", nullptr, nullptr,
                                         environment_->cancellation, kNoDeadline));
      test(*calls);
      calls->Wait(kNoDeadline);
      calls->Abandon();
      ended.set_value();
    });
    ended.get_future().wait();
  }

  runtime::Runtime runtime_;
  std::shared_ptr<run::RunEnvironment> environment_;
  CountedMemory memory_;
};

// The session's fiber may be suspended for long before it takes the results.
TEST_F(ToolCallsTest, ResultsCountUntilTheSessionCountsThem) {
  RunWith([this](ToolCalls& calls) {
    calls.Call({{"c1", "big"}}, 1);
    calls.Call({{"c2", "big"}}, 2);
    calls.Wait(kNoDeadline);
    EXPECT_GE(memory_.held, 2 * kOutputBytes);
    EXPECT_TRUE(calls.TakeFinished());
    EXPECT_GE(memory_.held, 2 * kOutputBytes) << "the session has not counted it yet";
    EXPECT_TRUE(calls.TakeFinished());
    EXPECT_GE(memory_.held, kOutputBytes);
    EXPECT_LT(memory_.held, 2 * kOutputBytes);
    EXPECT_FALSE(calls.TakeFinished());
    EXPECT_EQ(memory_.held, 0u);
  });
}

}  // namespace
}  // namespace agent_graph::live
