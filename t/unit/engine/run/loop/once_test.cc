// Nodes that no other worker executes again.
#include "../run_fixture.h"
#include "run/hand_over.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

class OnceTest : public RunTest {
 protected:
  OnceTest() {
    state_.before_append = [this](const state::AppendRunRequest& append) {
      arrived_.push_back(append.current_node);
      return Status::Ok();
    };
    state_.before_finish = [this](const state::FinishRunRequest& finish) {
      finished_ = finish;
      return Status::Ok();
    };
    builder_.AddFunction(
        "PAY",
        [this](const State&, RunContext&) -> NodeResult {
          ++calls_;
          return Message::Assistant("paid");
        },
        Execution::kNonBlocking);
    builder_.AddEdge(START, "PAY");
    builder_.SetOnce("PAY");
  }

  RunOutcome Continue(std::vector<EntryBody> log) {
    for (EntryBody& body : log) state_.At("t1").log.push_back(Encode(std::move(body), 1));
    RunRequest request = Ask("hi");
    request.run_id = "r1";
    request.accepted = AcceptedRun{.attempt = 2,
                                   .current_node = "PAY",
                                   .step = 0,
                                   .hand_over = std::make_shared<HandOver>(cancellation_)};
    return RunOk(request);
  }

  int calls_ = 0;
  std::vector<std::string> arrived_;
  state::FinishRunRequest finished_;
};

TEST_F(OnceTest, IsNotExecutedAgainAfterItsWorkerDied) {
  const RunOutcome outcome = Continue({entry::RunStarted{.run_id = "r1"}});
  EXPECT_EQ(outcome.status, RunStatus::kError);
  EXPECT_EQ(calls_, 0);
  EXPECT_EQ(finished_.reason, "worker_lost");
  EXPECT_NE(outcome.error.message().find("\"PAY\""), std::string::npos);
}

TEST_F(OnceTest, IsExecutedIfTheLastAttemptLeftBeforeIt) {
  const RunOutcome outcome = Continue({entry::RunStarted{.run_id = "r1"}, entry::AttemptLeft{}});
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  EXPECT_EQ(calls_, 1);
}

// Pieces are written beside the log, so one of an earlier node may come behind the last entry.
TEST_F(OnceTest, APieceBehindTheLastEntryDoesNotHideThatTheAttemptLeft) {
  const RunOutcome outcome =
      Continue({entry::RunStarted{.run_id = "r1"}, entry::AttemptLeft{},
                entry::MessagePiece{.node = "A", .message_id = "m9", .text = "late"}});
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  EXPECT_EQ(calls_, 1);
}

TEST_F(OnceTest, TheLogShowsThatItWasReachedBeforeItIsExecuted) {
  RunOk(Ask("hi"));
  EXPECT_EQ(calls_, 1);
  ASSERT_FALSE(arrived_.empty());
  EXPECT_EQ(arrived_.front(), "PAY");
}

TEST_F(OnceTest, OnlyAgentsAndFunctionsCanBeMarked) {
  builder_.AddToolNode("TOOLS", {}).SetOnce("TOOLS").SetOnce("GONE");
  const std::vector<std::string> problems = builder_.Problems();
  const auto has = [&](const std::string& text) {
    return std::ranges::any_of(problems, [&](const std::string& problem) {
      return problem.find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("only agents and functions can be marked once"));
  EXPECT_TRUE(has("GONE"));
}

}  // namespace
}  // namespace agent_graph::run
