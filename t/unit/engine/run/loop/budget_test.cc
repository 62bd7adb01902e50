// Runs whose budget is used up.
#include "../run_fixture.h"
#include "models/provider_options.h"
#include "run/hand_over.h"
#include "run/log/log_entry.h"

namespace agent_graph::run {
namespace {

// The scripted model reports 3 input and 2 output tokens for each reply.
class BudgetTest : public RunTest {
 protected:
  BudgetTest() {
    state_.before_finish = [this](const state::FinishRunRequest& finish) {
      finished_ = finish;
      return Status::Ok();
    };
  }

  RunRequest AskWith(const std::string& budget) {
    RunRequest request = Ask("hi");
    request.config = std::make_shared<const json>(json::parse(R"({"budget":)" + budget + "}"));
    return request;
  }
  void AddToolLoop() {
    Tool tool;
    tool.name = "look";
    tool.idempotent = true;
    tool.function = [this](const json&, ToolContext&) -> ToolOutput {
      ++tool_calls_;
      return "1";
    };
    AddAgentWithTools({std::move(tool)});
  }
  static ToolCallBlock Look(std::string id) { return {std::move(id), "look", "{}", false}; }

  void ExpectExceeded(const RunOutcome& outcome, const std::string& limit) {
    EXPECT_EQ(outcome.status, RunStatus::kError);
    EXPECT_EQ(outcome.error.code(), StatusCode::kBudgetExceeded) << outcome.error.ToString();
    EXPECT_EQ(outcome.error.message(), "the run has used up its budget of " + limit);
    EXPECT_EQ(finished_.reason, "BUDGET_EXCEEDED");
    EXPECT_EQ(finished_.status, "error");
  }

  std::atomic<int> tool_calls_ = 0;
  state::FinishRunRequest finished_;
};

TEST_F(BudgetTest, ARunWithinItsBudgetEndsNormally) {
  AddToolLoop();
  model_.script = {{.calls = {Look("c1")}}, {.pieces = {"One."}}};
  const RunOutcome outcome =
      RunOk(AskWith(R"({"tokens":10,"model_calls":2,"tool_calls":1,"seconds":3600})"));
  EXPECT_EQ(outcome.status, RunStatus::kDone) << outcome.error.ToString();
}

TEST_F(BudgetTest, AReplyBeyondTheBudgetIsKept) {
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  model_.script = {{.pieces = {"Hel", "lo"}}};
  const RunOutcome outcome = RunOk(AskWith(R"({"tokens":4})"));
  ExpectExceeded(outcome, "4 tokens");
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 2u);
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "Hello");
  const std::vector<json> errors = sink_.Of(RunEvent::Kind::kError);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].at("code"), "BUDGET_EXCEEDED");
}

TEST_F(BudgetTest, AModelIsNotCalledWithoutTokens) {
  AddToolLoop();
  model_.script = {{.calls = {Look("c1")}}, {.pieces = {"One."}}};
  ExpectExceeded(RunOk(AskWith(R"({"tokens":5})")), "5 tokens");
  EXPECT_EQ(model_.requests.size(), 1u);
  EXPECT_EQ(tool_calls_, 1);
}

TEST_F(BudgetTest, AReportDuringACallEndsItAndKeepsItsText) {
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  model_.script = {{.pieces = {"Hel"}, .report = Usage{.prompt_tokens = 90, .total_tokens = 90}}};
  const RunOutcome outcome = RunOk(AskWith(R"({"tokens":50})"));
  ExpectExceeded(outcome, "50 tokens");
  ASSERT_EQ(json::parse(outcome.messages_json).size(), 2u);
  const json partial = json::parse(outcome.messages_json).back();
  EXPECT_EQ(TextOf(partial), "Hel");
  EXPECT_EQ(partial.at("metadata").at("stop_reason"), "budget");
  EXPECT_EQ(json::parse(finished_.usage_json).at("input_tokens"), 90);
}

TEST_F(BudgetTest, CallsOfModelsAndToolsAreLimited) {
  AddToolLoop();
  model_.script = {{.calls = {Look("c1"), Look("c2")}}, {.pieces = {"One."}}};
  ExpectExceeded(RunOk(AskWith(R"({"model_calls":1})")), "1 model calls");
  EXPECT_EQ(tool_calls_, 2);
  model_.script = {{.calls = {Look("c3"), Look("c4")}}};
  RunRequest request = AskWith(R"({"tool_calls":1})");
  request.thread_id = "t2";
  ExpectExceeded(RunOk(request), "1 tool calls");
  EXPECT_EQ(tool_calls_, 2);
}

TEST_F(BudgetTest, CostsFollowThePrices) {
  options_.services.cost_of = [](const std::string&, int64_t input, int64_t output) {
    return std::optional(models::TokenPrice{.input = 1000, .output = 10'000}.CostOf(input, output));
  };
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  model_.script = {{.pieces = {"Hello"}}, {.pieces = {"Hello"}}};
  EXPECT_EQ(RunOk(AskWith(R"({"cost_usd":0.023})")).status, RunStatus::kDone);
  EXPECT_EQ(json::parse(finished_.usage_json).at("cost_usd"), 0.023);
  ExpectExceeded(RunOk(AskWith(R"({"cost_usd":0.0229})")), "0.0229 USD");
}

TEST_F(BudgetTest, AFunctionThatCallsAModelCannotHideIt) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    for (int i = 0; i < 3; ++i) {
      try {
        context.CallModel({.messages = {Message::User("x")}});
      } catch (const ModelError&) {
        return Message::Assistant("never mind");
      }
    }
    return Message::Assistant("done");
  });
  builder_.AddEdge(START, "A");
  model_.script = {{.pieces = {"1"}}, {.pieces = {"2"}}, {.pieces = {"3"}}};
  const RunOutcome outcome = RunOk(AskWith(R"({"model_calls":2})"));
  ExpectExceeded(outcome, "2 model calls");
  EXPECT_EQ(TextOf(json::parse(outcome.messages_json).back()), "never mind");
}

TEST_F(BudgetTest, AFunctionThatFailsBecauseOfItIsNotRetried) {
  std::atomic<int> calls = 0;
  builder_.AddFunction("A", [&](const State&, RunContext& context) -> NodeResult {
    ++calls;
    context.CallModel({.messages = {Message::User("x")}});
    return context.CallModel({.messages = {Message::User("y")}});
  });
  builder_.AddEdge(START, "A");
  builder_.SetRetry("A", {.attempts_max = 3, .delay = std::chrono::milliseconds(1)});
  model_.script = {{.pieces = {"1"}}, {.pieces = {"2"}}};
  ExpectExceeded(RunOk(AskWith(R"({"model_calls":1})")), "1 model calls");
  EXPECT_EQ(calls, 1);
}

TEST_F(BudgetTest, AFunctionThatFailsBecauseOfTheUsersTokensIsNoMistake) {
  const Status used_up(StatusCode::kBudgetExceeded, "the user has used up the tokens");
  options_.services.check_tokens = [&](const std::string&) { return used_up; };
  options_.services.charge_tokens = [](const std::string&, int64_t) {};
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    return context.CallModel({.messages = {Message::User("x")}});
  });
  builder_.AddEdge(START, "A");
  const RunOutcome outcome = RunOk(Ask("hi"));
  EXPECT_EQ(outcome.error.code(), StatusCode::kBudgetExceeded);
  EXPECT_EQ(outcome.error.message(), used_up.message());
  EXPECT_EQ(finished_.reason, "BUDGET_EXCEEDED");
}

// The worker may die in the function, so the next attempt must know of its calls before it ends.
TEST_F(BudgetTest, CallsOfAFunctionAreStoredAsTheyEnd) {
  std::vector<size_t> stored;  // after each call
  const auto stored_calls = [&] {
    return static_cast<size_t>(std::ranges::count(state_.Kinds("t1"), "model_finished"));
  };
  builder_.AddFunction("A", [&](const State&, RunContext& context) -> NodeResult {
    for (int i = 0; i < 2; ++i) {
      context.CallModel({.messages = {Message::User("x")}});
      stored.push_back(stored_calls());
    }
    return Message::Assistant("done");
  });
  builder_.AddEdge(START, "A");
  model_.script = {{.pieces = {"1"}}, {.pieces = {"2"}}};
  RunRequest request = AskWith(R"({"model_calls":9})");
  request.accepted = AcceptedRun{.hand_over = std::make_shared<HandOver>(cancellation_)};
  EXPECT_EQ(RunOk(request).status, RunStatus::kDone);
  EXPECT_EQ(stored, (std::vector<size_t>{1, 2}));
  EXPECT_EQ(json::parse(finished_.usage_json).at("model_calls"), 2);
}

TEST_F(BudgetTest, AFailedCallOfAFunctionIsLogged) {
  builder_.AddFunction("A", [](const State&, RunContext& context) -> NodeResult {
    try {
      context.CallModel({.messages = {Message::User("x")}});
    } catch (const ModelError&) {
      return Message::Assistant("never mind");
    }
    return Message::Assistant("done");
  });
  builder_.AddEdge(START, "A");
  model_.script = {{.failure = Status(StatusCode::kModel, "no")}};
  EXPECT_EQ(RunOk(Ask("hi")).status, RunStatus::kDone);
  EXPECT_EQ(std::ranges::count(state_.Kinds("t1"), "model_failed"), 1);
}

TEST_F(BudgetTest, AttemptsShareTheBudget) {
  builder_.AddAgent("MAIN", {}).AddEdge(START, "MAIN");
  const auto attempt = [&](bool left) {
    auto& thread = state_.At("t1");
    thread.log = {
        Encode(entry::RunStarted{.run_id = "r1"}, UnixMicros()),
        Encode(entry::ModelFinished{.reply = entry::ModelFinished::Reply{.input_tokens = 40,
                                                                         .output_tokens = 10}},
               UnixMicros())};
    if (left) thread.log.push_back(Encode(entry::AttemptLeft{}, UnixMicros()));
    model_.script = {{.pieces = {"Hello"}}};
    RunRequest request = AskWith(R"({"tokens":57,"model_calls":3})");
    request.run_id = "r1";
    request.accepted = AcceptedRun{.attempt = 2,
                                   .current_node = "MAIN",
                                   .step = 1,
                                   .hand_over = std::make_shared<HandOver>(cancellation_)};
    return RunOk(request);
  };
  // 50 tokens before, and 5 now.
  EXPECT_EQ(attempt(/*left=*/true).status, RunStatus::kDone);
  EXPECT_EQ(json::parse(finished_.usage_json).at("input_tokens"), 43);
  // The call of an attempt that died is estimated, and uses up the rest.
  ExpectExceeded(attempt(/*left=*/false), "57 tokens");
  EXPECT_EQ(std::ranges::count(state_.Kinds("t1"), "model_lost"), 1);
  EXPECT_GT(json::parse(finished_.usage_json).at("input_tokens"), 43);
}

}  // namespace
}  // namespace agent_graph::run
