// Accepted runs: the requests to the state, and the responses for its replies.
#include "base/clock.h"
#include "dispatch_fixture.h"
#include "run/log/log_entry.h"
#include "state/requests.h"
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
    ON_CALL(state_, FindKey).WillByDefault(Return(NotFound("no such key")));
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

TEST_F(AcceptedRunTest, HasTheDeadlineOfItsLocation) {
  const int64_t before = UnixMicros();
  Send("POST", "/v1/graph/runs", Invocation("hi"));
  run_timeout_ms_ = 5000;
  Send("POST", "/v1/graph/runs", Invocation("hi"));
  const int64_t after = UnixMicros();
  ASSERT_EQ(accepted_.size(), 2u);
  EXPECT_EQ(accepted_[0].deadline_micros, 0);
  EXPECT_GE(accepted_[1].deadline_micros, before + 5'000'000);
  EXPECT_LE(accepted_[1].deadline_micros, after + 5'000'000);
  EXPECT_EQ(accepted_[1].begin.run_ms_max, 5000);
}

TEST_F(AcceptedRunTest, IsContinuedUntilItIsTooOld) {
  settings_.recovery.age_seconds_max = 60;
  const int64_t before = UnixMicros();
  Send("POST", "/v1/graph/runs", Invocation("hi"));
  const int64_t after = UnixMicros();
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_GE(accepted_[0].continued_until_micros, before + 60'000'000);
  EXPECT_LE(accepted_[0].continued_until_micros, after + 60'000'000);
  settings_.recovery.enabled = false;
  Send("POST", "/v1/graph/runs", Invocation("hi"));
  ASSERT_EQ(accepted_.size(), 2u);
  EXPECT_EQ(accepted_[1].continued_until_micros, 0);
}

TEST_F(AcceptedRunTest, ARunThatEndsWithItsConnectionIsNotContinued) {
  more_headers_ = {{"idempotency-key", "k"}};
  const std::string body = Invocation("hi", R"(,"config":{"on_disconnect":"cancel"})");
  Send("POST", "/v1/graph/invoke", body);
  ASSERT_EQ(accepted_.size(), 1u);
  EXPECT_EQ(accepted_[0].continued_until_micros, 0);
  // A run in the background has no connection.
  Send("POST", "/v1/graph/runs", body);
  ASSERT_EQ(accepted_.size(), 2u);
  EXPECT_GT(accepted_[1].continued_until_micros, 0);
}

TEST_F(AcceptedRunTest, AGeneratedThreadIdThatIsTakenIsReplaced) {
  std::vector<std::string> tried;
  size_t taken = 2;
  ON_CALL(state_, AcceptRun)
      .WillByDefault([&](const state::AcceptRunRequest& accept) -> Result<state::AcceptRunReply> {
        tried.push_back(accept.begin.thread_id);
        EXPECT_EQ(accept.begin.new_thread_only, accept.begin.thread_id != "mine");
        if (tried.size() <= taken) return Status(StatusCode::kConflict, "taken");
        return state::AcceptRunReply{state::AcceptRunReply::Outcome::kAccepted, Accepted()};
      });
  EXPECT_EQ(Send("POST", "/v1/graph/runs", Invocation("hi")).status, 202);
  ASSERT_EQ(tried.size(), 3u);
  EXPECT_NE(tried[0], tried[1]);
  // An id that the client has chosen is not replaced.
  taken = tried.size() + 1;
  const std::string body = Invocation("hi", R"(,"config":{"thread_id":"mine"})");
  EXPECT_EQ(Send("POST", "/v1/graph/runs", body).status, 409);
  EXPECT_EQ(tried.size(), 4u);
}

TEST_F(AcceptedRunTest, ResultsNobodyWaitsForAreRefused) {
  const std::string result =
      R"({"messages":[{"role":"tool","content":[{"type":"tool_result","call_id":"c","output":1}]}])";
  const std::string body = result + R"(,"config":{"thread_id":"t"}})";
  state_.At("t").state.record.thread_id = "t";
  EXPECT_EQ(Send("POST", "/v1/graph/runs", body).status, 422);
  Answer answer = Send("POST", "/v1/graph/runs", result + "}");
  EXPECT_EQ(answer.status, 422);
  EXPECT_NE(answer.body.find("config.thread_id"), std::string::npos);
  EXPECT_TRUE(accepted_.empty());
  // A run is in flight. When it ends, calls may wait for these results.
  state_.At("t").state.in_flight = state::RunInFlight{};
  EXPECT_EQ(Send("POST", "/v1/graph/runs", body).status, 202);
  // The request may be a repetition, which the state recognizes by its key.
  more_headers_ = {{"idempotency-key", "k"}};
  EXPECT_EQ(Send("POST", "/v1/graph/runs", result + "}").status, 202);
}

TEST_F(AcceptedRunTest, AKeyIsOneOfTheRouteAndTheBody) {
  more_headers_ = {{"idempotency-key", std::string(255, 'k')}};
  for (const char* config : {R"("a":1,"b":2)", R"("b":2,"a":1)", R"("a":2,"b":2)"}) {
    Send("POST", "/v1/graph/runs", Invocation("hi", std::string(R"(,"config":{)") + config + "}"));
  }
  Send("POST", "/v1/graph/stream", Invocation("hi", R"(,"config":{"a":1,"b":2})"));
  ASSERT_EQ(accepted_.size(), 4u);
  for (const state::AcceptRunRequest& accept : accepted_) {
    ASSERT_TRUE(accept.key);
    EXPECT_EQ(accept.key->key, std::string(255, 'k'));
  }
  EXPECT_EQ(accepted_[0].key->body_hash, accepted_[1].key->body_hash) << "in another order";
  EXPECT_NE(accepted_[0].key->body_hash, accepted_[2].key->body_hash);
  EXPECT_EQ(accepted_[0].key->route, "POST /v1/graph/runs");
  EXPECT_EQ(accepted_[3].key->route, "POST /v1/graph/stream");
  for (const size_t size : {0, 256}) {
    more_headers_ = {{"idempotency-key", std::string(size, 'k')}};
    ExpectInvalid(Send("POST", "/v1/graph/runs", Invocation("hi")), {"header", "Idempotency-Key"});
  }
  EXPECT_EQ(accepted_.size(), 4u);
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
  // No call with this id waits: once in a thread that exists, once in one that does not.
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
  // Without on_disconnect, the request runs the graph itself.
  EXPECT_EQ(Send("POST", "/v1/graph/invoke", Invocation("x")).status, 200);
  EXPECT_EQ(accepted_.size(), 1u);
}

TEST_F(AcceptedRunTest, AResultThatHasLeftTheWindowIsReadFromTheThread) {
  auto& thread = state_.At("t/1").state;
  thread.record.thread_id = "t/1";
  thread.record.last_run_id = "r2";
  thread.window = {{"m9", 9, R"({"message_id":"m9","role":"user","content":"later"})"}};
  state::FollowRunReply log;
  log.run = Accepted();
  log.run.state = state::RunState::kDone;
  log.run.log_begin = 5;
  log.kept_from = 5;
  log.complete = true;
  for (const char* id : {"m1", "deleted", "m2"}) {
    run::entry::MessageAdded added;
    added.message_id = id;
    log.entries.push_back({0, 1, run::Encode(added, 1)});
  }
  ON_CALL(state_, FollowRun).WillByDefault([&](const auto&, const auto*) {
    return Result<state::FollowRunReply>(log);
  });
  ON_CALL(state_, GetRun).WillByDefault([&](const auto&) {
    return Result<state::RunRecord>(log.run);
  });
  ON_CALL(state_, GetMessage).WillByDefault([](const auto&, const auto&, const std::string& id) {
    if (id == "deleted") return Result<state::StoredMessage>(NotFound("message not found"));
    state::StoredMessage message{id, 1, R"({"message_id":")" + id + "\"}"};
    return Result<state::StoredMessage>(std::move(message));
  });
  Answer answer = Send("GET", "/v1/threads/t%2F1/runs/r1/wait");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.Data()["messages"], json::parse(R"([{"message_id":"m1"},{"message_id":"m2"}])"));
  // The rest of its log may not name all of its messages.
  log.kept_from = 6;
  answer = Send("GET", "/v1/threads/t%2F1/runs/r1/wait");
  EXPECT_EQ(answer.status, 410) << answer.body;
  EXPECT_EQ(answer.Json()["error"]["code"], "GONE");
}

TEST_F(AcceptedRunTest, AWaitThatIsOverHasTheRecordAndWhereToGoOn) {
  ON_CALL(state_, GetRun).WillByDefault(Return(Accepted()));
  Answer answer = Send("GET", "/v1/threads/t%2F1/runs/r1/wait?timeout=0");
  EXPECT_EQ(answer.status, 202) << answer.body;
  EXPECT_EQ(answer.Data()["status"], "running");
  EXPECT_EQ(answer.Header("Location"), "/v1/threads/t%2F1/runs/r1/stream");
}

TEST_F(AcceptedRunTest, ARunThatHasEndedIsNotStopped) {
  state::RunRecord run = Accepted();
  run.state = state::RunState::kDone;
  ON_CALL(state_, GetRun).WillByDefault([&](const auto&) { return Result<state::RunRecord>(run); });
  EXPECT_CALL(state_, RequestStop(_)).Times(0);
  Answer answer = Send("POST", "/v1/threads/t%2F1/runs/r1/cancel");
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.Data()["cancelling"], false);
}

TEST_F(AcceptedRunTest, AStopThatIsCompleteIsNoLongerCancelling) {
  state::RunRecord run = Accepted();
  ON_CALL(state_, GetRun).WillByDefault([&](const auto&) { return Result<state::RunRecord>(run); });
  ON_CALL(state_, RequestStop).WillByDefault(Return(state::StopReply{true, "r1"}));
  EXPECT_EQ(Send("POST", "/v1/threads/t%2F1/runs/r1/cancel").Data()["cancelling"], true);
  ON_CALL(state_, RequestStop).WillByDefault([&](const auto&) {
    run.state = state::RunState::kStopped;
    return Result<state::StopReply>(state::StopReply{true, "r1"});
  });
  Answer answer = Send("POST", "/v1/threads/t%2F1/runs/r1/cancel");
  EXPECT_EQ(answer.Data()["cancelling"], false);
  EXPECT_EQ(answer.Data()["run"]["status"], "stopped");
}

TEST_F(AcceptedRunTest, ListsHaveTheirPageAndFilter) {
  state::ListRunsRequest asked;
  ON_CALL(state_, ListRuns).WillByDefault(DoAll(SaveArg<0>(&asked), Return(state::RunPage())));
  ASSERT_EQ(Send("GET", "/v1/threads/t/runs").status, 200);
  EXPECT_EQ(asked.limit, 100u);
  EXPECT_FALSE(asked.run_state);
  for (auto [limit, served] : {std::pair("5", 5u), {"1000", 1000u}, {"1001", 1000u}}) {
    Send("GET", std::string("/v1/threads/t/runs?status=done&cursor=c&limit=") + limit);
    EXPECT_EQ(asked.limit, served);
    EXPECT_EQ(asked.run_state, state::RunState::kDone);
    EXPECT_EQ(asked.cursor, "c");
  }
}

TEST_F(AcceptedRunTest, TheHeaderIsNewerThanTheCursorOfTheUrl) {
  more_headers_ = {{"last-event-id", "y"}};
  Answer answer = Send("GET", "/v1/threads/t/runs/r1/stream?after=-1");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.Json()["error"]["details"][0]["loc"],
            json::parse(R"(["header","Last-Event-ID"])"));
}

TEST_F(AcceptedRunTest, TooManyFollowersAreRefused) {
  settings_.limits.runs_max = 2;
  const FollowerLimit::Place place = api_.followers->Enter("other", 1);
  ASSERT_TRUE(place);
  Answer answer = Send("GET", "/v1/threads/t/runs/r1/stream");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.Header("Retry-After"), "1");
}

TEST_F(AcceptedRunTest, AThreadTakesHalfOfTheFollowers) {
  FollowerLimit limit;
  {
    const FollowerLimit::Place first = limit.Enter("a", 4), second = limit.Enter("a", 4);
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(limit.Enter("a", 4));
    const FollowerLimit::Place other = limit.Enter("b", 4), unnamed = limit.Enter("", 4);
    EXPECT_TRUE(other && unnamed);
    EXPECT_FALSE(limit.Enter("c", 4));
    EXPECT_EQ(limit.count(), 4u);
  }
  EXPECT_EQ(limit.count(), 0u);
  EXPECT_TRUE(limit.Enter("a", 1));
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
