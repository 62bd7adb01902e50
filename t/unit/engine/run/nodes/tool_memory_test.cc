// Memory of the calls of a tool node: outputs count until the thread has them, and large replies
// wait in turns.
#include <algorithm>

#include "runtime/signal.h"
#include "tool_node_fixture.h"
#include "tools/call/engine_tool_context.h"
#include "tools/call/reply_memory.h"

namespace agent_graph::run {
namespace {

using testing::ElementsAre;

class ToolMemoryTest : public ToolNodeTest {
 protected:
  // A tool whose function receives the memory of its call.
  static Tool ReadingTool(std::string name,
                          std::function<ToolOutput(tools::ReplyMemory& memory)> function) {
    Tool tool = MakeTool(std::move(name), [function](const json&, ToolContext& context) {
      auto& engine = dynamic_cast<tools::EngineToolContext&>(context);
      return function(*engine.reply_memory());
    });
    tool.execution = Execution::kNonBlocking;
    return tool;
  }
  // The most that the run has reported as held.
  uint64_t MostHeld() const {
    return std::ranges::max_element(sink_.held, {}, &RecordingSink::Held::thread_bytes)
        ->thread_bytes;
  }
};

TEST_F(ToolMemoryTest, OutputsCountBeforeTheThreadHasThem) {
  std::vector<uint64_t> held;
  const auto output = [](const json&, ToolContext&) {
    return ToolOutput(std::string(100'000, 'x'));
  };
  Tool last = ReadingTool("last", [&](tools::ReplyMemory&) {
    for (const RecordingSink::Held& each : sink_.held) held.push_back(each.thread_bytes);
    return ToolOutput("small");
  });
  Tool first = MakeTool("first", output);
  first.execution = Execution::kNonBlocking;
  Results({first, last}, {Call("c1", "first"), Call("c2", "last")});
  ASSERT_FALSE(held.empty());
  EXPECT_GT(held.back(), 100'000u);
}

TEST_F(ToolMemoryTest, ALargeReplyWaitsAndGivesBack) {
  uint64_t held_while_reading = 0;
  Results({ReadingTool("read",
                       [&](tools::ReplyMemory& memory) {
                         EXPECT_TRUE(memory.Await(500'000).ok());
                         EXPECT_TRUE(memory.Await(400'000).ok()) << "it holds more";
                         EXPECT_TRUE(memory.Await(800'000).ok());
                         held_while_reading = MostHeld();
                         return ToolOutput("small");
                       })},
          {Call("c1", "read")});
  EXPECT_THAT(sink_.awaited, ElementsAre(500'000u, 300'000u));
  EXPECT_LT(held_while_reading, 100'000u) << "AwaitMemory counts it";
  EXPECT_LT(sink_.held.back().thread_bytes, 100'000u);
}

TEST_F(ToolMemoryTest, OneCallOfARunWaitsAtATime) {
  runtime::Signal second_waits;
  std::vector<size_t> awaited;
  sink_.on_await = [&] {
    if (sink_.awaited.size() == 1) {
      EXPECT_EQ(second_waits.Wait(nullptr, DeadlineAfter(std::chrono::seconds(60))),
                runtime::WakeReason::kNotified);
    }
    awaited.push_back(sink_.awaited.size());
    return Status::Ok();
  };
  const auto first = [](tools::ReplyMemory& memory) {
    EXPECT_TRUE(memory.Await(100'000).ok());
    return ToolOutput("one");
  };
  const auto second = [&](tools::ReplyMemory& memory) {
    second_waits.Notify();
    EXPECT_TRUE(memory.Await(200'000).ok());
    return ToolOutput("two");
  };
  Results({ReadingTool("first", first), ReadingTool("second", second)},
          {Call("c1", "first"), Call("c2", "second")});
  EXPECT_THAT(awaited, ElementsAre(1u, 2u)) << "the second one waited for the first one";
  EXPECT_THAT(sink_.awaited, ElementsAre(100'000u, 200'000u));
}

TEST_F(ToolMemoryTest, WithoutMemoryTheCallGetsTheReason) {
  sink_.on_await = [] { return Status(StatusCode::kResourceExhausted, "no memory"); };
  StatusCode first = StatusCode::kOk;
  StatusCode second = StatusCode::kOk;
  const auto read = [](StatusCode& code) {
    return [&code](tools::ReplyMemory& memory) {
      code = memory.Await(100'000).code();
      return ToolOutput("none");
    };
  };
  Results({ReadingTool("first", read(first)), ReadingTool("second", read(second))},
          {Call("c1", "first"), Call("c2", "second")});
  EXPECT_EQ(first, StatusCode::kResourceExhausted);
  EXPECT_EQ(second, StatusCode::kResourceExhausted) << "the turn was passed on";
}

}  // namespace
}  // namespace agent_graph::run
