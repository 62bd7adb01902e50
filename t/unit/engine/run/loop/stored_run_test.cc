// Runs on the real state service: a state server with an in-memory database and a client.
#include <stdlib.h>

#include <filesystem>

#include "../run_fixture.h"
#include "run/context/agent_state.h"
#include "run/log/run_log.h"
#include "state/calls/caller.h"
#include "state/factory/factory.h"
#include "state/gateway/client/link.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

// A client that does not receive the reply to a successful append.
class ForgetfulClient : public state::Caller {
 public:
  explicit ForgetfulClient(const state::StateOptions& options)
      : Caller(std::make_shared<state::Link>(options), options.type) {}

  Result<state::AppendRunReply> AppendRun(const state::AppendRunRequest& append) override {
    Result<state::AppendRunReply> reply = Caller::AppendRun(append);
    if (!std::exchange(loses_reply, false)) return reply;
    return Status(StatusCode::kUnavailable, "the state did not answer in time");
  }

  bool loses_reply = false;
};

class StoredRunTest : public testing::Test {
 protected:
  StoredRunTest() : runtime_({.threads = 2, .name = "test"}) {}

  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "run-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    state::StateOptions options;
    options.directory = directory_;
    options.type = "memory";
    auto server = state::StartStateServer(options);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(*server);
    client_ = std::make_unique<ForgetfulClient>(options);
    ASSERT_TRUE(client_->Start().ok());
    ASSERT_TRUE(runtime_.Start().ok());
  }
  void TearDown() override {
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
    client_->Stop();
    server_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Starts a run on its own fiber.
  std::future<Result<RunOutcome>> Start(const std::string& text) {
    auto graph = graph::CompiledGraph::Compile(builder_, "test");
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    auto runner = std::make_shared<Runner>(*graph, client_.get(), runtime_, Runner::Options());
    auto done = std::make_shared<std::promise<Result<RunOutcome>>>();
    RunRequest request;
    request.thread_id = "t1";
    request.messages = {Message::User(text)};
    runtime_.Spawn([runner, request, done] {
      RecordingSink sink;
      done->set_value(runner->Execute(RunRequest(request), runtime::Cancellation(), sink));
    });
    return done->get_future();
  }
  RunOutcome Finish(std::future<Result<RunOutcome>> run) {
    Result<RunOutcome> outcome = run.get();
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    return outcome.ok() ? std::move(*outcome) : RunOutcome{};
  }
  json Meta() {
    Result<state::ThreadState> state = client_->GetState(state::Scope::All(), "t1");
    EXPECT_TRUE(state.ok()) << state.status().ToString();
    return json::parse(AgentStateJson(*state)).at("execution_meta");
  }

  std::string directory_;
  std::unique_ptr<state::StateServer> server_;
  std::unique_ptr<ForgetfulClient> client_;
  runtime::Runtime runtime_;
  GraphBuilder builder_;
};

// A node that reports that it has started and then waits for permission to continue.
struct Gate {
  std::promise<void> entered;
  std::promise<void> open;
  std::shared_future<void> opened = open.get_future();
};

TEST_F(StoredRunTest, TurnsAddUpAndStateIsIdleAfterwards) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(std::to_string(state.messages().size()));
  });
  builder_.AddEdge(START, "A");
  EXPECT_TRUE(Finish(Start("hi")).start.is_new_thread);
  RunOutcome second = Finish(Start("again"));
  EXPECT_FALSE(second.start.is_new_thread);
  EXPECT_EQ(json::parse(second.messages_json).size(), 4u);
  json meta = Meta();
  EXPECT_EQ(meta.at("is_running"), false);
  EXPECT_EQ(meta.at("current_node"), "END");
  auto log = client_->ReadLog(state::Scope::All(), "t1", 0, 100);
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->front().kind, "run_started");
  EXPECT_EQ(log->back().kind, "run_finished");
}

TEST_F(StoredRunTest, ARunInFlightIsShownWithItsNode) {
  Gate gate;
  builder_.AddFunction("A", [&gate](const State&, RunContext&) -> NodeResult {
    gate.entered.set_value();
    gate.opened.wait();
    return Message::Assistant("one");
  });
  builder_.AddEdge(START, "A");
  auto run = Start("hi");
  gate.entered.get_future().wait();
  json meta = Meta();
  EXPECT_EQ(meta.at("is_running"), true);
  EXPECT_EQ(meta.at("current_node"), "A");
  EXPECT_EQ(meta.at("step"), 0);
  gate.open.set_value();
  Finish(std::move(run));
  EXPECT_EQ(Meta().at("is_running"), false);
}

TEST_F(StoredRunTest, AStopRequestEndsTheRunBetweenNodes) {
  Gate gate;
  builder_.AddFunction("A", [&gate](const State&, RunContext&) -> NodeResult {
    gate.entered.set_value();
    gate.opened.wait();
    return Message::Assistant("one");
  });
  builder_.AddFunction("B", [](const State&, RunContext&) -> NodeResult {
    ADD_FAILURE() << "started after the stop";
    return {};
  });
  builder_.AddEdge(START, "A").AddEdge("A", "B");
  auto run = Start("hi");
  gate.entered.get_future().wait();
  auto stopped = client_->RequestStop({state::Scope::All(), "t1"});
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->running);
  EXPECT_EQ(Meta().at("is_stopped_requested"), true);
  gate.open.set_value();
  RunOutcome outcome = Finish(std::move(run));
  EXPECT_EQ(outcome.status, RunStatus::kStopped);
  EXPECT_EQ(json::parse(outcome.messages_json).size(), 2u);
  EXPECT_EQ(Meta().at("is_stopped_requested"), false);
}

TEST_F(StoredRunTest, RunsOfOneThreadFollowEachOther) {
  builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant(std::to_string(state.messages().size()));
  });
  builder_.AddEdge(START, "A");
  std::vector<std::future<Result<RunOutcome>>> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(Start("hi"));
  size_t longest = 0;
  for (auto& run : runs) {
    longest = std::max(longest, json::parse(Finish(std::move(run)).messages_json).size());
  }
  EXPECT_EQ(longest, 16u);
}

TEST_F(StoredRunTest, AnAppendWhoseReplyWasLostIsLoggedOnce) {
  state::BeginRunRequest begin;
  begin.scope = state::Scope::All();
  begin.thread_id = "t1";
  begin.run_id = "run";
  Result<state::BeginRunReply> begun = client_->BeginRun(begin, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  RunLog log(client_.get(), "t1", "run", begun->lease_epoch, /*record=*/false);

  log.Add(entry::RunStarted());
  ASSERT_TRUE(log.Flush("START", 0).ok());
  log.Add(entry::NodeStarted());
  client_->loses_reply = true;
  EXPECT_EQ(log.Flush("A", 0).code(), StatusCode::kUnavailable);
  log.Add(entry::NodeFinished());
  ASSERT_TRUE(log.Flush("A", 1).ok());
  log.Add(entry::NodeStarted());
  client_->loses_reply = true;
  EXPECT_EQ(log.Flush("B", 1).code(), StatusCode::kUnavailable);
  log.Add(entry::RunFinished());
  ASSERT_TRUE(log.Finish({}, "END", 2).ok());

  auto entries = client_->ReadLog(state::Scope::All(), "t1", 0, 100);
  ASSERT_TRUE(entries.ok());
  std::vector<std::string> kinds;
  for (const state::LogEntry& entry : *entries) kinds.push_back(entry.kind);
  EXPECT_EQ(kinds, (std::vector<std::string>{"run_started", "node_started", "node_finished",
                                             "node_started", "run_finished"}));
}

}  // namespace
}  // namespace agent_graph::run
