#include "facades/agui/interrupts.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "run/context/execution_meta.h"
#include "run/context/open_inputs.h"

namespace agent_graph::agui {
namespace {

using Kind = OpenInterrupt::Kind;

state::ThreadState Paused(const char* data, const run::OpenInputs& inputs = {}) {
  run::ExecutionMeta meta;
  meta.phase = run::ExecutionMeta::Phase::kInterruptedAfter;
  meta.interrupted_node = "NODE";
  meta.interrupt_reason = "needs a yes";
  meta.interrupt_data_json = data;
  meta.inputs_json = inputs.ToJson();
  state::ThreadState thread;
  thread.snapshot.execution_json = meta.ToJson();
  thread.window.push_back({"m1", 1, "{}"});
  return thread;
}

run::OpenInputs Questions(int rounds = 1) {
  run::OpenInput call;
  call.call_id = "c1";
  call.tool = "register";
  call.rounds = rounds;
  call.pause.asker = "peer";
  call.pause.continuation = 1;
  const json form = {{"type", "object"},
                     {"properties", {{"name", {{"type", "string"}}}}},
                     {"required", json::array({"name"})}};
  call.pause.questions = {{"k1", "Your name?", form, ""}, {"k2", "Visit", json(), "https://x.org"}};
  call.answers.resize(2);
  run::OpenInputs inputs;
  EXPECT_TRUE(inputs.Keep(call).ok());
  return inputs;
}

std::optional<api::ErrorInfo> Take(const std::vector<OpenInterrupt>& open,
                                   const std::vector<ResumeEntry>& resume,
                                   run::RunRequest* request = nullptr) {
  run::RunRequest taken;
  auto error = TakeResume(open, resume, taken);
  if (request != nullptr) *request = std::move(taken);
  return error;
}

TEST(Interrupts, AnAnswerThatNoNodeHasSeenDoesNotChangeTheId) {
  state::ThreadState thread = Paused("null");
  run::ExecutionMeta meta = run::ExecutionMeta::FromJson(thread.snapshot.execution_json);
  meta.unexecuted_resume = true;
  thread.snapshot.execution_json = meta.ToJson();
  thread.window.push_back({"answer-pause-m1", 2, "{}"});
  const std::vector<OpenInterrupt> open = InterruptsOf(thread);
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].id, "pause-m1");
}

TEST(Interrupts, AThreadThatIsNotPausedHasNone) {
  EXPECT_TRUE(InterruptsOf({}).empty());
  state::ThreadState running = Paused("null");
  running.in_flight.emplace();
  EXPECT_TRUE(InterruptsOf(running).empty());
  EXPECT_TRUE(InterruptsOf(Paused(R"({"remote_tool_calls":[{"id":"c","name":"f"}]})")).empty())
      << "results of the client's tools are no answers";
}

TEST(Interrupts, APauseOfTheGraphIsAnsweredByAMessage) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused(R"({"about":"pay"})"));
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].shown.at("id"), "pause-m1");
  EXPECT_EQ(open[0].shown.at("reason"), "confirmation");
  EXPECT_EQ(open[0].shown.at("message"), "needs a yes");
  EXPECT_EQ(open[0].shown.at("metadata").at("data"), json({{"about", "pay"}}));
  run::RunRequest request;
  EXPECT_FALSE(Take(open, {{"pause-m1", false, json({{"approved", true}})}}, &request));
  ASSERT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.messages[0].Text(), "yes");
  EXPECT_EQ(request.messages[0].id, "answer-pause-m1") << "the same for a repeated answer";
  const json metadata = json::parse(request.messages[0].metadata_json);
  EXPECT_EQ(metadata.at("resume").at("payload"), json({{"approved", true}}));
}

TEST(Interrupts, PayloadsBecomeTexts) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("null"));
  const auto said = [&](std::optional<json> payload, bool is_cancelled = false) {
    run::RunRequest request;
    EXPECT_FALSE(Take(open, {{"pause-m1", is_cancelled, std::move(payload)}}, &request));
    return request.messages.at(0).Text();
  };
  EXPECT_EQ(said(std::nullopt), "yes");
  EXPECT_EQ(said(std::nullopt, true), "cancelled");
  EXPECT_EQ(said("later"), "later");
  EXPECT_EQ(said(false), "no");
  EXPECT_EQ(said(json({{"approved", false}})), "no");
  EXPECT_EQ(said(json({{"approved", true}, {"message", "go"}})), "go");
  EXPECT_EQ(said(json({{"approved", true}, {"message", ""}})), "yes");
  EXPECT_EQ(said(json({{"approved", nullptr}, {"message", "go"}})), "go");
  EXPECT_EQ(said(json({{"x", 1}})), R"({"x":1})");
  EXPECT_EQ(said(5), "5");
}

TEST(Interrupts, NoTextTurnsARefusalIntoAnApproval) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("null"));
  run::RunRequest request;
  const json refusal = {{"approved", false}, {"message", "yes, I saw it, but don't"}};
  EXPECT_FALSE(Take(open, {{"pause-m1", false, refusal}}, &request));
  EXPECT_EQ(request.messages.at(0).Text(), "no");
  EXPECT_EQ(json::parse(request.messages[0].metadata_json).at("resume").at("payload"), refusal)
      << "the graph can read what the user said";
  for (const json& payload :
       {json({{"approved", "no"}}), json({{"approved", "false"}, {"note", "yes"}}),
        json({{"approved", 1}, {"message", "yes"}}), json({{"message", {{"text", "yes"}}}})}) {
    const auto error = Take(open, {{"pause-m1", false, payload}});
    ASSERT_TRUE(error) << payload;
    EXPECT_EQ(error->code, "INVALID_ANSWER");
  }
}

TEST(Interrupts, QuestionsOfToolsHaveTheirSchema) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("{}", Questions()));
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].kind, Kind::kQuestion);
  EXPECT_EQ(open[0].shown.at("id"), "c1/1");
  EXPECT_EQ(open[0].shown.at("reason"), "input_required");
  EXPECT_EQ(open[0].shown.at("toolCallId"), "c1");
  EXPECT_TRUE(open[0].shown.at("responseSchema").at("properties").contains("name"));
  EXPECT_EQ(open[1].shown.at("metadata").at("url"), "https://x.org");
  EXPECT_FALSE(open[1].shown.contains("responseSchema"));
  run::RunRequest request;
  EXPECT_FALSE(
      Take(open, {{"c1/2", true, {}}, {"c1/1", false, json({{"name", "Eve"}})}}, &request));
  ASSERT_EQ(request.messages.size(), 2u);
  EXPECT_EQ(json::parse(request.messages[0].ToolResults()[0]->output_json),
            json({{"action", "accept"}, {"content", {{"name", "Eve"}}}}));
  EXPECT_EQ(request.messages[0].ToolResults()[0]->call_id, "c1/1");
  EXPECT_EQ(json::parse(request.messages[1].ToolResults()[0]->output_json),
            json({{"action", "cancel"}}));
}

TEST(Interrupts, ACallThatAsksAgainHasOtherIds) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("{}", Questions(2)));
  ASSERT_EQ(open.size(), 2u);
  EXPECT_EQ(open[0].id, "c1/1.2");
  EXPECT_EQ(open[0].call_id, "c1/1.2") << "as the engine numbers it";
}

TEST(Interrupts, CallsWithUnknownEffectsAreDecided) {
  run::OpenInput call;
  call.call_id = "c1";
  call.tool = "pay";
  call.undecided = true;
  run::OpenInputs inputs;
  ASSERT_TRUE(inputs.Keep(call).ok());
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("{}", inputs));
  ASSERT_EQ(open.size(), 1u);
  using Action = run::ToolDecision::Action;
  run::RunRequest request;
  EXPECT_FALSE(Take(open, {{"decision-c1", false, json({{"action", "retry"}})}}, &request));
  ASSERT_EQ(request.tool_decisions.size(), 1u);
  EXPECT_EQ(request.tool_decisions[0].action, Action::kRetry);
  EXPECT_FALSE(Take(open, {{"decision-c1", true, {}}}, &request));
  EXPECT_EQ(request.tool_decisions[0].action, Action::kSkip);
  EXPECT_FALSE(
      Take(open, {{"decision-c1", false, json({{"action", "result"}, {"result", 5}})}}, &request));
  EXPECT_EQ(request.tool_decisions[0].result_json, "5");
  EXPECT_EQ(Take(open, {{"decision-c1", false, json({{"action", "result"}})}})->code,
            "INVALID_ANSWER");
}

TEST(Interrupts, AnswersMustFit) {
  const std::vector<OpenInterrupt> open = InterruptsOf(Paused("{}", Questions()));
  EXPECT_EQ(Take(open, {})->code, "UNANSWERED_INTERRUPT");
  EXPECT_EQ(Take(open, {{"c1/2", false, {}}})->code, "UNANSWERED_INTERRUPT");
  EXPECT_EQ(Take(open, {{"c1/1", true, {}}, {"c1/2", true, {}}, {"c9", true, {}}})->code,
            "UNKNOWN_INTERRUPT");
  EXPECT_EQ(Take(open, {{"c1/1", true, {}}, {"c1/1", true, {}}, {"c1/2", true, {}}})->code,
            "INVALID_ANSWER");
  EXPECT_EQ(Take(open, {{"c1/1", false, json({{"name", 5}})}, {"c1/2", true, {}}})->code,
            "INVALID_ANSWER");
  EXPECT_FALSE(Take({}, {}));
}

}  // namespace
}  // namespace agent_graph::agui
