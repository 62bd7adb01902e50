// Accepted runs: what the state is asked, and how its replies are answered.
#include "dispatch_fixture.h"
#include "state/runs.h"

namespace agent_graph::api {
namespace {

state::RunRecord Accepted() {
  state::RunRecord run;
  run.run_id = "r1";
  run.thread_id = "t/1";
  run.state = state::RunState::kRunning;
  run.attempt = 1;
  run.created_micros = 1781611200000000;
  return run;
}

class AcceptedRunTest : public DispatchTest {
 protected:
  AcceptedRunTest() {
    ON_CALL(state_, AcceptRun).WillByDefault([this](const state::AcceptRunRequest& accept) {
      accepted_.push_back(accept);
      state::AcceptRunReply reply;
      reply.outcome = outcome_;
      reply.run = Accepted();
      return reply;
    });
  }

  std::vector<state::AcceptRunRequest> accepted_;
  state::AcceptRunReply::Outcome outcome_ = state::AcceptRunReply::Outcome::kAccepted;
};

TEST_F(AcceptedRunTest, IsAnsweredAtOnce) {
  Answer answer = Send("POST", "/v1/graph/runs",
                       Invocation("hi", R"(,"config":{"thread_id":"t/1","run_id":"r1"})"));
  ASSERT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.Data(), json::parse(R"({"run_id":"r1","thread_id":"t/1","status":"running",
                                           "attempt":1})"));
  EXPECT_EQ(answer.Header("Location"), "/v1/threads/t%2F1/runs/r1/stream");
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_EQ(accepted_[0].begin.thread_id, "t/1");
  EXPECT_EQ(accepted_[0].begin.run_id, "r1");
  EXPECT_FALSE(accepted_[0].key);
  EXPECT_GT(accepted_[0].continued_until_micros, 0);
  EXPECT_NE(accepted_[0].request.find("hi"), std::string::npos);
}

TEST_F(AcceptedRunTest, ARefusedRequestIsNotAccepted) {
  ExpectInvalid(Send("POST", "/v1/graph/runs", "{}"), {"body", "messages"});
  ExpectInvalid(
      Send("POST", "/v1/graph/runs", Invocation("x", R"(,"config":{"on_disconnect":"maybe"})")),
      {"body", "config", "on_disconnect"});
  EXPECT_TRUE(accepted_.empty());
}

TEST_F(AcceptedRunTest, TheClientChoosesWhatABusyThreadMeans) {
  const auto send = [&](const char* policy) {
    const std::string config = std::string(R"(,"config":{"on_busy":)") + policy + "}";
    return Send("POST", "/v1/graph/runs", Invocation("x", config));
  };
  settings_.busy_thread.enqueue = false;
  for (const char* policy : {"null", R"("enqueue")", R"("reject")", R"("interrupt")"}) {
    EXPECT_EQ(send(policy).status, 202) << policy;
  }
  ASSERT_EQ(accepted_.size(), 4u);
  const auto expect = [&](size_t index, bool enqueue, bool interrupt) {
    EXPECT_EQ(accepted_[index].begin.enqueue_if_busy, enqueue) << index;
    EXPECT_EQ(accepted_[index].begin.interrupt_if_busy, interrupt) << index;
  };
  expect(0, false, false);  // as the service is configured
  expect(1, true, false);
  expect(2, false, false);
  expect(3, true, true);
  ExpectInvalid(send(R"("wait")"), {"body", "config", "on_busy"});
  ExpectInvalid(send("1"), {"body", "config", "on_busy"});
}

TEST_F(AcceptedRunTest, DecisionsAboutToolCallsAreChecked) {
  const auto send = [&](const std::string& decisions, const char* config) {
    return Send("POST", "/v1/graph/runs",
                R"({"tool_decisions":)" + decisions + R"(,"config":)" + config + "}");
  };
  constexpr char kThread[] = R"({"thread_id":"t/1"})";
  ExpectInvalid(send("[]", kThread), {"body", "tool_decisions"});
  ExpectInvalid(send(R"([{"action":"retry"}])", kThread),
                {"body", "tool_decisions", "0", "call_id"});
  ExpectInvalid(send(R"([{"call_id":"c","action":"again"}])", kThread),
                {"body", "tool_decisions", "0", "action"});
  ExpectInvalid(send(R"([{"call_id":"c","action":"result"}])", kThread),
                {"body", "tool_decisions", "0", "result"});
  ExpectInvalid(send(R"([{"call_id":"c","action":"skip","result":1}])", kThread),
                {"body", "tool_decisions", "0", "result"});
  ExpectInvalid(
      send(R"([{"call_id":"c","action":"skip"},{"call_id":"c","action":"retry"}])", kThread),
      {"body", "tool_decisions", "1", "call_id"});
  ExpectInvalid(send(R"([{"call_id":"c","action":"skip"}])", "{}"),
                {"body", "config", "thread_id"});
  // No call of this name waits, in a thread that exists and in one that does not.
  state_.At("t/1").state.record.thread_id = "t/1";
  const auto& execution = state_.At("t/1").state.snapshot.execution_json =
      R"({"status":"interrupted_after","inputs":[{"call_id":"c","tool":"pay","undecided":true}]})";
  for (const char* config : {kThread, R"({"thread_id":"gone"})"}) {
    ExpectInvalid(send(R"([{"call_id":"x","action":"skip"}])", config),
                  {"body", "tool_decisions", "0", "call_id"});
  }
  EXPECT_TRUE(accepted_.empty()) << execution;
  EXPECT_EQ(send(R"([{"call_id":"c","action":"result","result":{"id":7}}])", kThread).status, 202);
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_NE(accepted_[0].request.find("tool_decisions"), std::string::npos);
}

TEST_F(AcceptedRunTest, KeysThatCannotBeUsedAreErrors) {
  outcome_ = state::AcceptRunReply::Outcome::kOtherBody;
  Answer answer = Send("POST", "/v1/graph/runs", Invocation("x"));
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.Json()["error"]["code"], "IDEMPOTENCY_MISMATCH");
  outcome_ = state::AcceptRunReply::Outcome::kRunDeleted;
  EXPECT_EQ(Send("POST", "/v1/graph/runs", Invocation("x")).status, 410);
}

TEST_F(AcceptedRunTest, InvokeWaitsForTheEnd) {
  state_.At("t/1").state.record.thread_id = "t/1";
  state_.At("t/1").state.record.last_run_id = "r1";
  ON_CALL(state_, FollowRun).WillByDefault([](const auto&, const auto*) {
    state::FollowRunReply reply;
    reply.run = Accepted();
    reply.run.state = state::RunState::kDone;
    reply.complete = true;
    return Result<state::FollowRunReply>(reply);
  });
  Answer answer = Send("POST", "/v1/graph/invoke",
                       Invocation("x", R"(,"config":{"on_disconnect":"continue"})"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.Data()["meta"]["run_id"], "r1");
  EXPECT_EQ(accepted_.size(), 1u);
  // Without the wish, the request runs the graph itself.
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", Invocation("x")).status, 200);
  EXPECT_EQ(accepted_.size(), 1u);
}

TEST_F(AcceptedRunTest, TooManyFollowersAreRefused) {
  settings_.limits.runs_max = 2;
  const FollowerLimit::Place place = api_.followers->Enter(1);
  ASSERT_TRUE(place);
  Answer answer = Send("GET", "/v1/threads/t/runs/r1/stream");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Header("Retry-After"), "1");
}

TEST_F(AcceptedRunTest, OtherTextsAreNoCursors) {
  Answer answer = Send("GET", "/v1/threads/t/runs/r1/stream?after=x");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.Json()["error"]["details"][0]["loc"], json::parse(R"(["query","after"])"));
}

TEST_F(AcceptedRunTest, WithoutACheckpointerNothingIsAccepted) {
  api_.state = nullptr;
  for (const char* path : {"/v1/graph/runs", "/v1/threads/t/runs/r/cancel"}) {
    Answer answer = Send("POST", path, Invocation("x"));
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(answer.Json()["error"]["code"], "NOT_CONFIGURED");
  }
}

}  // namespace
}  // namespace agent_graph::api
