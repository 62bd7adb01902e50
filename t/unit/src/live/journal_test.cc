#include "live/journal.h"

#include <gtest/gtest.h>

#include <future>

#include "../../engine/state/fake_service.h"
#include "agent_graph/graph.h"
#include "graph/compiled_graph.h"
#include "runtime/runtime.h"
#include "state/requests.h"

namespace agent_graph::live {
namespace {

class JournalTest : public testing::Test {
 protected:
  JournalTest() : runtime_({.threads = 1, .name = "test"}) {}

  // Begins a session's journal whose run has the thread "t".
  Journal::Options Begin() {
    EXPECT_TRUE(runtime_.Start().ok());
    GraphBuilder builder;
    builder.AddFunction("A", [](const State&, RunContext&) { return NodeResult(); });
    builder.AddEdge(START, "A");
    auto graph = graph::CompiledGraph::Compile(builder, "test");
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    auto environment = std::make_shared<run::RunEnvironment>();
    environment->graph = *graph;
    environment->runtime = &runtime_;
    environment->thread_id = "t";
    environment->run_id = "run";
    state::BeginRunRequest run;
    run.thread_id = "t";
    run.run_id = "run";
    auto begun = state_.BeginRun(run, nullptr);
    EXPECT_TRUE(begun.ok());
    Journal::Options options;
    options.state = &state_;
    options.environment = std::move(environment);
    options.begun = *std::move(begun);
    options.node = "A";
    return options;
  }
  // Records one utterance and ends at once, on a fiber; then waits until everything has ended.
  void SaySomething(Journal::Options options) {
    std::promise<void> ended;
    runtime_.Spawn([&] {
      auto journal = std::make_shared<Journal>(std::move(options));
      journal->Append(Message::User("hello"));
      journal->Finish("done");
      ended.set_value();
    });
    ended.get_future().wait();
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
  }

  // Stores a resumption handle; returns true if the journal reported that it was kept.
  bool StoreHandleOf(Journal::Options options, bool& lost) {
    bool kept = false;
    std::promise<void> ended;
    runtime_.Spawn([&] {
      auto journal = std::make_shared<Journal>(std::move(options));
      journal->StoreHandle("h", [&] { kept = true; });
      journal->Finish("done");
      lost = journal->lost();
      ended.set_value();
    });
    ended.get_future().wait();
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
    return kept;
  }

  runtime::Runtime runtime_;
  testing::NiceMock<state::FakeService> state_;
};

TEST_F(JournalTest, StoresAHandleInTheThread) {
  bool lost = false;
  EXPECT_TRUE(StoreHandleOf(Begin(), lost));
  EXPECT_FALSE(lost);
  EXPECT_EQ(state_.At("t").state.record.metadata_json, R"({"resumption_handle":"h"})");
}

TEST_F(JournalTest, DoesNotStoreAHandleWithoutTheLease) {
  Journal::Options options = Begin();
  state_.At("t").epoch = 7;
  bool lost = false;
  EXPECT_FALSE(StoreHandleOf(std::move(options), lost));
  EXPECT_TRUE(lost);
  EXPECT_EQ(state_.At("t").state.record.metadata_json, "{}");
}

TEST_F(JournalTest, DoesNotReportAHandleThatCouldNotBeStored) {
  Journal::Options options = Begin();
  state_.before_append = [](const state::AppendRunRequest& append) {
    return append.metadata_json.empty() ? Status::Ok() : Unavailable("no answer");
  };
  bool lost = false;
  EXPECT_FALSE(StoreHandleOf(std::move(options), lost));
  EXPECT_FALSE(lost);
}

TEST_F(JournalTest, FinishWritesTheQueueAndReleasesTheLease) {
  SaySomething(Begin());
  EXPECT_FALSE(state_.AnyLease());
  EXPECT_EQ(state_.At("t").last_status, "done");
  EXPECT_EQ(state_.At("t").state.window.size(), 1u);
}

TEST_F(JournalTest, KeepsOnlyTheBeginningOfTextsForTheName) {
  Journal::Options options = Begin();
  options.begun.created = true;
  auto services = std::make_shared<run::RunServices>();
  std::vector<std::string> named;
  services->name_thread = [&](const std::vector<std::string>& texts) {
    named = texts;
    return "a name";
  };
  auto environment = std::make_shared<run::RunEnvironment>(*options.environment);
  environment->services = services;
  options.environment = environment;
  std::promise<void> ended;
  runtime_.Spawn([&] {
    auto journal = std::make_shared<Journal>(std::move(options));
    journal->Append(Message::User("hello"));
    journal->Append(Message::ToolResult("c1", "3", false));
    journal->Append(Message::User(std::string(100'000, 'x')));
    EXPECT_EQ(journal->held_bytes() - journal->unwritten_bytes(), 5u + 4096u);
    journal->Finish("done");
    ended.set_value();
  });
  ended.get_future().wait();
  EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(named[0], "hello");
  EXPECT_EQ(named[1], std::string(4096, 'x'));
}

TEST_F(JournalTest, AWriteThatOutlivesFinishReleasesTheLease) {
  Journal::Options options = Begin();
  options.finish_max = std::chrono::milliseconds(0);
  SaySomething(std::move(options));
  EXPECT_FALSE(state_.AnyLease());
  EXPECT_EQ(state_.At("t").last_status, "done");
  EXPECT_EQ(state_.At("t").state.window.size(), 1u);
}

}  // namespace
}  // namespace agent_graph::live
