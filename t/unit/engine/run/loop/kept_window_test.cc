// Runs of two workers on one thread: each keeps the window of its last run, and both see what the
// other one and other callers have changed.
#include <stdlib.h>

#include <filesystem>

#include "../run_fixture.h"
#include "message/codec.h"
#include "run/context/window_cache.h"
#include "state/calls/caller.h"
#include "state/factory/factory.h"
#include "state/gateway/client/link.h"
#include "state/requests.h"

namespace agent_graph::run {
namespace {

// Counts how the windows were loaded.
class CountingClient : public state::Caller {
 public:
  explicit CountingClient(const state::StateOptions& options)
      : Caller(std::make_shared<state::Link>(options), options.type) {}

  Result<state::BeginRunReply> BeginRun(const state::BeginRunRequest& run,
                                        const runtime::Cancellation* cancellation) override {
    Result<state::BeginRunReply> reply = Caller::BeginRun(run, cancellation);
    if (reply.ok() && reply->window_is_partial) ++partial;
    if (on_begun) on_begun();
    return reply;
  }
  Result<state::GetStateUpToReply> GetStateUpTo(const state::GetStateUpToRequest& get) override {
    ++reads;
    return Caller::GetStateUpTo(get);
  }

  Status FinishRun(const state::FinishRunRequest& finish) override {
    if (on_finish) on_finish(finish);
    return Caller::FinishRun(finish);
  }

  int partial = 0;
  int reads = 0;
  std::function<void()> on_begun;
  std::function<void(const state::FinishRunRequest&)> on_finish;
};

class StateSink : public RecordingSink {
 public:
  explicit StateSink(bool wants_final_state) : wants_final_state_(wants_final_state) {}
  bool wants_final_state() const override { return wants_final_state_; }

 private:
  const bool wants_final_state_;
};

class KeptWindowTest : public testing::Test {
 protected:
  KeptWindowTest() : runtime_({.threads = 1, .name = "test"}) {
    builder_.AddFunction("A", [](const State& state, RunContext&) -> NodeResult {
      std::string seen;
      for (const Message& message : state.messages()) seen += message.Text() + ",";
      return Message::Assistant("(" + std::to_string(state.messages().size()) + ":" + seen + ")");
    });
    builder_.AddEdge(START, "A");
  }
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "run-test-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    options_.directory = directory_;
    options_.type = "leveldb";
    StartServer();
    client_ = std::make_unique<CountingClient>(options_);
    ASSERT_TRUE(client_->Start().ok());
    ASSERT_TRUE(runtime_.Start().ok());
  }
  void TearDown() override {
    EXPECT_TRUE(runtime_.Stop(kNoDeadline).ok());
    client_->Stop();
    server_.reset();
    std::filesystem::remove_all(directory_);
  }
  void StartServer() {
    server_.reset();
    auto server = state::StartStateServer(options_);
    ASSERT_TRUE(server.ok()) << server.status().ToString();
    server_ = std::move(*server);
  }

  // A turn in a worker with this cache; returns the messages that its node has seen.
  std::string Turn(WindowCache& worker, const std::string& text) {
    auto graph = graph::CompiledGraph::Compile(builder_, "test");
    Runner::Options options;
    options.window_max = window_max_;
    options.services.windows = &worker;
    Runner runner(*graph, client_.get(), runtime_, options);
    std::promise<Result<RunOutcome>> done;
    runtime_.Spawn([&] {
      RunRequest request;
      request.thread_id = "t";
      request.messages = {Message::User(text)};
      StateSink sink(wants_final_state_);
      done.set_value(runner.Execute(std::move(request), runtime::Cancellation(), sink));
    });
    Result<RunOutcome> outcome = done.get_future().get();
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    if (!outcome.ok()) return "";
    const json messages = json::parse(outcome->messages_json);
    if (messages.empty()) return "";
    // The run returns the thread as it is stored.
    const auto stored = client_->GetState(state::Scope::All(), "t");
    EXPECT_TRUE(outcome->messages_json.ends_with(stored->window.back().json + "]"));
    return Shorten(messages.back().at("content").at(0).at("text").get<std::string>());
  }
  // Replaces the answers of earlier turns by "*".
  static std::string Shorten(std::string seen) {
    for (size_t open = seen.find('(', 1); open != std::string::npos; open = seen.find('(', 1)) {
      size_t end = open;
      for (int depth = 0; end < seen.size(); ++end) {
        depth += seen[end] == '(' ? 1 : seen[end] == ')' ? -1 : 0;
        if (depth == 0) break;
      }
      seen.replace(open, end - open + 1, "*");
    }
    return seen;
  }
  std::string IdOf(size_t place) {
    return client_->GetState(state::Scope::All(), "t")->window.at(place).id;
  }

  std::optional<uint64_t> window_max_ = 100;
  bool wants_final_state_ = true;
  std::string directory_;
  state::StateOptions options_;
  std::unique_ptr<state::StateServer> server_;
  std::unique_ptr<CountingClient> client_;
  WindowCache worker_{1024 * 1024, {}};
  WindowCache other_worker_{1024 * 1024, {}};
  runtime::Runtime runtime_;
  GraphBuilder builder_;
};

TEST_F(KeptWindowTest, FromTheThirdTurnOnOnlyNewMessagesAreLoaded) {
  EXPECT_EQ(Turn(worker_, "one"), "(1:one,)");
  EXPECT_EQ(Turn(worker_, "two"), "(3:one,*,two,)");
  EXPECT_EQ(Turn(worker_, "three"), "(5:one,*,two,*,three,)");
  EXPECT_EQ(client_->partial, 1);
  EXPECT_EQ(Turn(worker_, "four"), "(7:one,*,two,*,three,*,four,)");
  EXPECT_EQ(client_->partial, 2);
  EXPECT_EQ(client_->reads, 0);
}

TEST_F(KeptWindowTest, TurnsOfAnotherWorkerAreSeen) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  EXPECT_EQ(Turn(other_worker_, "three"), "(5:one,*,two,*,three,)");
  EXPECT_EQ(Turn(worker_, "four"), "(7:one,*,two,*,three,*,four,)");
  EXPECT_EQ(Turn(other_worker_, "five"), "(9:one,*,two,*,three,*,four,*,five,)");
  EXPECT_EQ(client_->partial, 2);
}

TEST_F(KeptWindowTest, ADeletedMessageIsNotSeenAgain) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  ASSERT_TRUE(client_->DeleteMessage(state::Scope::All(), "t", IdOf(0)).ok());
  EXPECT_EQ(Turn(worker_, "three"), "(4:*,two,*,three,)");
  EXPECT_EQ(client_->partial, 1);
}

TEST_F(KeptWindowTest, AReplacedMessageIsSeenAsItIsNow) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  Message changed = Message::User("ONE");
  changed.id = IdOf(0);
  state::PutStateRequest put;
  put.thread_id = "t";
  put.messages = {{changed.id, 0, message::ToJsonText(changed)}};
  ASSERT_TRUE(client_->PutState(put).ok());
  EXPECT_EQ(Turn(worker_, "three"), "(5:ONE,*,two,*,three,)");
  EXPECT_EQ(client_->partial, 0);
}

TEST_F(KeptWindowTest, AThreadThatWasCreatedAgainIsEmpty) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  ASSERT_TRUE(client_->DeleteThread(state::Scope::All(), "t").ok());
  EXPECT_EQ(Turn(worker_, "three"), "(1:three,)");
}

TEST_F(KeptWindowTest, TheNextStateServerCompletesIt) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  StartServer();
  EXPECT_EQ(Turn(worker_, "three"), "(5:one,*,two,*,three,)");
  EXPECT_EQ(client_->partial, 1);
}

TEST_F(KeptWindowTest, MessagesBeyondTheWindowAreLeftOut) {
  window_max_ = 3;
  Turn(worker_, "one");
  Turn(worker_, "two");
  EXPECT_EQ(Turn(worker_, "three"), "(3:two,*,three,)");
  EXPECT_EQ(Turn(worker_, "four"), "(3:three,*,four,)");
  EXPECT_EQ(client_->reads, 0);
}

TEST_F(KeptWindowTest, AWindowThatIsDroppedWhileTheRunWaitsIsLoaded) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  client_->on_begun = [&] { worker_.Clear(); };
  EXPECT_EQ(Turn(worker_, "three"), "(5:one,*,two,*,three,)");
  EXPECT_EQ(client_->partial, 1);
  EXPECT_EQ(client_->reads, 1);
}

// The next run of the thread can begin before this run has the reply about its end.
TEST_F(KeptWindowTest, ItIsThereBeforeTheEndIsSentUnlessItsStateIsWanted) {
  for (const bool wants : {true, false}) {
    wants_final_state_ = wants;
    Turn(worker_, "one");
    std::optional<DecodedWindow> kept;
    bool is_named = false;
    client_->on_finish = [&](const state::FinishRunRequest& finish) {
      is_named = finish.window_is_kept;
      kept = worker_.Take("t");
    };
    Turn(worker_, "two");
    client_->on_finish = {};
    EXPECT_EQ(is_named, !wants);
    EXPECT_EQ(kept.has_value(), !wants);
  }
}

TEST_F(KeptWindowTest, AnIdOfAKeptMessageIsNotUsedTwice) {
  Turn(worker_, "one");
  Turn(worker_, "two");
  const std::string id = IdOf(0);
  builder_.AddFunction("B", [id](const State&, RunContext&) -> NodeResult {
    Message message = Message::Assistant("same id");
    message.id = id;
    return message;
  });
  builder_.AddEdge("A", "B");
  Turn(worker_, "three");
  const auto window = client_->GetState(state::Scope::All(), "t")->window;
  EXPECT_EQ(window.size(), 7u);
  EXPECT_NE(window.back().id, id);
}

}  // namespace
}  // namespace agent_graph::run
