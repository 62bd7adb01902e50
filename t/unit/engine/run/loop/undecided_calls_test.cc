// Tool calls that may have taken effect before their worker died: the client decides.
#include <mutex>

#include "../run_fixture.h"
#include "message/codec.h"
#include "run/context/execution_meta.h"
#include "run/hand_over.h"
#include "run/log/log_entry.h"
#include "run/nodes/tool_call.h"

namespace agent_graph::run {
namespace {

using Action = ToolDecision::Action;

class UndecidedCallsTest : public RunTest {
 protected:
  UndecidedCallsTest() {
    options_.services.ask_about_lost_calls = true;
    Tool pay;
    pay.name = "pay";
    pay.function = [this](const json& arguments, ToolContext&) -> ToolOutput {
      const std::lock_guard lock(mutex_);
      paid_.push_back(arguments.at("to").get<std::string>());
      return "paid";
    };
    AddAgentWithTools({std::move(pay)});
    Die();
  }

  // The thread at the time when a worker had died in two calls of `pay`.
  void Die() {
    auto& thread = state_.At("t1");
    const auto store = [&](Message message, const std::string& id) {
      message.id = id;
      thread.state.window.push_back({id, ++thread.sequence, message::ToJsonText(message)});
    };
    store(Message::User("hi"), "m1");
    Message calling = Message::Assistant("");
    for (const char* id : {"c1", "c2"}) {
      const size_t index = calling.ToolCalls().size();
      calling.content.emplace_back(
          ToolCallBlock{id, "pay", std::string(R"({"to":")") + id + "\"}", false});
      thread.log.push_back(
          Encode(entry::ToolIntent{.call = {.node = "TOOLS", .tool = "pay", .call_id = id},
                                   .idempotency_key = IdempotencyKey("t1", "m2", index)},
                 2));
    }
    store(calling, "m2");
  }
  RunOutcome Continue() {
    RunRequest request = Ask("hi");
    request.run_id = "r1";
    request.messages.front().id = "m1";
    request.accepted = AcceptedRun{.attempt = 2,
                                   .current_node = "TOOLS",
                                   .step = 1,
                                   .hand_over = std::make_shared<HandOver>(cancellation_)};
    return RunOk(request);
  }
  RunRequest Decide(std::vector<ToolDecision> decisions) {
    RunRequest request;
    request.thread_id = "t1";
    request.tool_decisions = std::move(decisions);
    return request;
  }
  static std::vector<json> ToolResults(const RunOutcome& outcome) {
    std::vector<json> results;
    for (const json& message : json::parse(outcome.messages_json)) {
      if (message.at("role") == "tool") results.push_back(message.at("content").at(0));
    }
    return results;
  }
  static json Undecided(const RunOutcome& outcome) {
    return json::parse(outcome.interrupt_json).at("data").at("undecided_tool_calls");
  }

  std::mutex mutex_;
  std::vector<std::string> paid_;
};

TEST_F(UndecidedCallsTest, TheRunPausesAndNamesTheCalls) {
  const RunOutcome outcome = Continue();
  EXPECT_EQ(outcome.status, RunStatus::kInterrupted) << outcome.error.ToString();
  const json interrupt = json::parse(outcome.interrupt_json);
  EXPECT_EQ(interrupt.at("reason"), "a tool call may have taken effect");
  EXPECT_EQ(interrupt.at("node"), "TOOLS");
  EXPECT_EQ(Undecided(outcome),
            json::parse(R"([{"call_id":"c1","tool":"pay","arguments":{"to":"c1"}},
                            {"call_id":"c2","tool":"pay","arguments":{"to":"c2"}}])"));
  EXPECT_TRUE(paid_.empty());
}

TEST_F(UndecidedCallsTest, EachCallGetsItsDecision) {
  Continue();
  model_.script = {{.pieces = {"Done."}}};
  const RunOutcome outcome = RunOk(
      Decide({{.call_id = "c1", .action = Action::kRetry},
              {.call_id = "c2", .action = Action::kResult, .result_json = R"({"receipt":7})"}}));
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  EXPECT_EQ(paid_, std::vector<std::string>{"c1"});
  const std::vector<json> results = ToolResults(outcome);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].at("output"), "paid");
  EXPECT_EQ(results[1].at("output"), json({{"receipt", 7}}));
  EXPECT_EQ(results[1].at("is_error"), false);
}

TEST_F(UndecidedCallsTest, TheOtherCallsWaitOn) {
  Continue();
  const RunOutcome first = RunOk(Decide({{.call_id = "c1", .action = Action::kSkip}}));
  EXPECT_EQ(first.status, RunStatus::kInterrupted) << first.error.ToString();
  ASSERT_EQ(Undecided(first).size(), 1u);
  EXPECT_EQ(Undecided(first)[0].at("call_id"), "c2");
  model_.script = {{.pieces = {"Done."}}};
  const RunOutcome second = RunOk(Decide({{.call_id = "c2", .action = Action::kSkip}}));
  EXPECT_EQ(second.status, RunStatus::kDone);
  EXPECT_TRUE(paid_.empty());
  const std::vector<json> results = ToolResults(second);
  ASSERT_EQ(results.size(), 2u);
  for (const json& result : results) {
    EXPECT_EQ(result.at("is_error"), true);
    EXPECT_NE(result.dump().find("decided not to make it again"), std::string::npos);
  }
}

TEST_F(UndecidedCallsTest, AMessageInsteadGoesOnWithoutThem) {
  Continue();
  model_.script = {{.pieces = {"All right."}}};
  const RunOutcome outcome = RunOk(Ask("never mind"));
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
  EXPECT_TRUE(paid_.empty());
  ASSERT_EQ(ToolResults(outcome).size(), 2u);
  EXPECT_NE(ToolResults(outcome)[0].dump().find("whether it took effect is unknown"),
            std::string::npos);
}

TEST_F(UndecidedCallsTest, ADecisionNeedsACallThatWaitsForIt) {
  EXPECT_EQ(Run(Decide({{.call_id = "c1"}})).status().code(), StatusCode::kInvalidArgument)
      << "the thread is not paused";
  Continue();
  const Status unknown = Run(Decide({{.call_id = "c1"}, {.call_id = "c9"}})).status();
  EXPECT_EQ(unknown.code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(unknown.message().starts_with("tool_decisions.1.call_id: ")) << unknown.message();
  EXPECT_TRUE(paid_.empty());
}

}  // namespace
}  // namespace agent_graph::run
