// UserEmission: user functions use the emitter of their run only one at a time, and not once the
// run has stopped waiting for them.
#include "run/nodes/user_emission.h"

#include <atomic>
#include <future>
#include <thread>

#include "../run_fixture.h"
#include "run/context/message_ids.h"
#include "run/context/working_thread.h"
#include "run/nodes/emitter.h"
#include "run/nodes/node_runner.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"

namespace agent_graph::run {
namespace {

class UserEmissionTest : public testing::Test {
 protected:
  static std::shared_ptr<const graph::CompiledGraph> Graph() {
    GraphBuilder builder;
    builder.AddFunction(
        "A", [](const State&, RunContext&) -> NodeResult { return Message::Assistant("said"); });
    builder.AddEdge(START, "A");
    return graph::CompiledGraph::Compile(builder, "test").value();
  }

  const std::shared_ptr<const graph::CompiledGraph> graph_ = Graph();
  const IdGenerator generator_;
  RecordingSink sink_;
  runtime::Cancellation cancellation_;
  Emitter emitter_{sink_, cancellation_};
  RunLog log_{nullptr, "t", "r", 0, /*record=*/false};
  WorkingThread thread_{*graph_, "t", kRunBytesMax, log_, MessageIds(generator_)};
  const NodeRun run_{.environment = std::make_shared<RunEnvironment>(),
                     .node = *graph_->FindNode("A"),
                     .thread = thread_,
                     .emitter = emitter_,
                     .log = log_};
  UserEmission emission_{run_};
};

TEST_F(UserEmissionTest, NothingIsEmittedOnceItIsClosed) {
  EXPECT_TRUE(emission_.EmitPiece("m", "piece", "").ok());
  emission_.Close();
  EXPECT_EQ(emission_.EmitPiece("m", "late", "").code(), StatusCode::kCancelled);
  EXPECT_EQ(sink_.events.size(), 1u);
}

TEST_F(UserEmissionTest, ClosingWaitsForAPieceThatIsBeingSent) {
  std::promise<void> entered;
  std::promise<void> release;
  std::atomic<bool> sent = false;
  sink_.on_event = [&](const RunEvent&) {
    entered.set_value();
    release.get_future().wait();
    sent = true;
    return Status::Ok();
  };
  std::thread sender([&] { EXPECT_TRUE(emission_.EmitPiece("m", "piece", "").ok()); });
  entered.get_future().wait();
  std::thread closer([&] {
    emission_.Close();
    EXPECT_TRUE(sent);
  });
  release.set_value();
  closer.join();
  sender.join();
}

TEST_F(UserEmissionTest, APieceWaitsForTheOneBeforeIt) {
  // The fibers of one engine thread begin in this order, and each of them runs until it waits.
  runtime::Runtime engine{runtime::RuntimeOptions{}};
  ASSERT_TRUE(engine.Start().ok());
  runtime::Signal release;
  int inside = 0;
  sink_.on_event = [&](const RunEvent&) {
    EXPECT_EQ(++inside, 1);
    if (sink_.events.size() == 1) release.Wait(nullptr, kNoDeadline);
    --inside;
    return Status::Ok();
  };
  for (const char* piece : {"first", "second", "third"}) {
    engine.Spawn([&, piece] { EXPECT_TRUE(emission_.EmitPiece("m", piece, "").ok()); });
  }
  engine.Spawn([&] { release.Notify(); });
  EXPECT_TRUE(engine.Stop(kNoDeadline).ok());
  EXPECT_EQ(sink_.events.size(), 3u);
}

}  // namespace
}  // namespace agent_graph::run
