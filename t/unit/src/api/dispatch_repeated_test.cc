// Requests that are sent again with their Idempotency-Key, and clients that leave while their run
// is accepted.
#include "dispatch_fixture.h"
#include "state/requests.h"
#include "state/runs.h"

namespace agent_graph::api {
namespace {

constexpr char kDecisions[] =
    R"({"tool_decisions":[{"call_id":"c","action":"retry"}],"config":{"thread_id":"t/1"}})";

state::RunRecord RunR1() {
  state::RunRecord run;
  run.run_id = "r1";
  run.thread_id = "t/1";
  run.thread_number = 7;
  run.state = state::RunState::kRunning;
  return run;
}

class RepeatedRequestTest : public DispatchTest {
 protected:
  RepeatedRequestTest() {
    more_headers_ = {{"idempotency-key", "k"}};
    ON_CALL(state_, FindKey).WillByDefault([this](const state::FindKeyRequest& find) {
      EXPECT_EQ(find.key, "k");
      return known_ ? Result<state::KeyRecord>(*known_) : NotFound("no such key");
    });
    ON_CALL(state_, FindWaitingThread).WillByDefault(Return(NotFound("no such thread")));
    ON_CALL(state_, GetRun).WillByDefault([this](const state::GetRunRequest& get) {
      EXPECT_EQ(get.thread_id + "/" + get.run_id, "t/1/r1");
      return run_ ? Result<state::RunRecord>(*run_) : NotFound("no such run");
    });
    ON_CALL(state_, AcceptRun).WillByDefault([this](const state::AcceptRunRequest& accept) {
      ++accepted_;
      known_ = state::KeyRecord{accept.key->body_hash, "", "t/1", "r1", 7};
      run_ = RunR1();
      return state::AcceptRunReply{state::AcceptRunReply::Outcome::kAccepted, *run_};
    });
  }

  // A thread that waits for a decision, until a run has taken it.
  void Wait() {
    state_.At("t/1").state.record.thread_id = "t/1";
    state_.At("t/1").state.snapshot.execution_json =
        R"({"status":"interrupted_after","inputs":[{"call_id":"c","tool":"pay","undecided":true}]})";
  }
  void Decided() { state_.At("t/1").state.snapshot.execution_json = "{}"; }

  // Dispatches a frame on a socket of its own and returns the chunks of the answer.
  std::vector<json> SendFrame(const std::string& frame) {
    auto exchange = MakeSocket(frame);
    runtime::Promise<bool> done;
    runtime_.Spawn([=, this] {
      Dispatch(exchange, api_);
      done.Set(true);
    });
    EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
    std::vector<bridge::OutboxItem> items;
    outbox_.Swap(items);
    std::string frames;
    for (const bridge::OutboxItem& item : items) {
      if (const auto* chunk = std::get_if<bridge::SendChunk>(&item.payload)) frames += chunk->bytes;
    }
    return TextsIn(frames);
  }

  // The JSON texts of unmasked frames of less than 64 KiB.
  static std::vector<json> TextsIn(std::string_view frames) {
    std::vector<json> texts;
    const auto byte = [&](size_t at) { return static_cast<unsigned char>(frames.at(at)); };
    while (!frames.empty()) {
      const bool is_text = (byte(0) & 0x0f) == 1;
      const bool is_short = byte(1) < 126;
      const size_t head = is_short ? 2 : 4;
      const size_t size = is_short ? byte(1) : byte(2) * 256U + byte(3);
      if (is_text) texts.push_back(json::parse(frames.substr(head, size)));
      frames.remove_prefix(head + size);
    }
    return texts;
  }

  std::shared_ptr<bridge::Exchange> MakeSocket(const std::string& frame) {
    bridge::RequestHead head = Head("GET", "/v1/graph/ws");
    head.websocket = true;
    head.headers = {{"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};
    socket_ = std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1}, std::move(head),
                                                 outbox_, bridge::CreditLimits{});
    EXPECT_FALSE(socket_->socket().Deliver({false, frame}));
    return socket_;
  }

  std::optional<state::KeyRecord> known_;
  std::optional<state::RunRecord> run_;
  int accepted_ = 0;
  std::shared_ptr<bridge::Exchange> socket_;
};

TEST_F(RepeatedRequestTest, ADecisionThatIsSentAgainGetsItsRun) {
  Wait();
  ASSERT_EQ(Send("POST", "/v1/graph/runs", std::string(kDecisions)).status, 202);
  Decided();
  const Answer again = Send("POST", "/v1/graph/runs", std::string(kDecisions));
  ASSERT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.Data()["run_id"], "r1");
  EXPECT_EQ(accepted_, 1);
  // Another request cannot be decided any more.
  known_.reset();
  ExpectInvalid(Send("POST", "/v1/graph/runs", std::string(kDecisions)),
                {"body", "tool_decisions", "0", "call_id"});
}

TEST_F(RepeatedRequestTest, AKeyIsFoundBeforeAnythingElseOfItsRequest) {
  const std::string body = Invocation("hi");
  ASSERT_EQ(Send("POST", "/v1/graph/runs", body).status, 202);
  EXPECT_EQ(Send("POST", "/v1/graph/runs", std::string(kDecisions)).Json()["error"]["code"],
            "IDEMPOTENCY_MISMATCH");
  // The thread was deleted; or another thread has its id, and a run of it that of the run.
  run_->thread_number = 8;
  EXPECT_EQ(Send("POST", "/v1/graph/runs", body).status, 410);
  run_.reset();
  EXPECT_EQ(Send("POST", "/v1/graph/runs", body).status, 410);
  // It is not known whether the request is a repetition.
  const Status away(StatusCode::kUnavailable, "away");
  ON_CALL(state_, FindKey).WillByDefault(Return(away));
  EXPECT_EQ(Send("POST", "/v1/graph/runs", std::string(kDecisions)).status, 503);
  EXPECT_EQ(accepted_, 1);
}

TEST_F(RepeatedRequestTest, AFrameIsNotCheckedAgain) {
  ON_CALL(state_, FollowRun).WillByDefault(Return(NotFound("cut")));
  const std::string more = R"(,"idempotency_key":"k"})";
  std::string decisions = kDecisions;
  decisions.replace(decisions.size() - 1, 1, more);
  Wait();
  SendFrame(decisions);
  ASSERT_EQ(accepted_, 1);
  Decided();
  std::vector<json> chunks = SendFrame(decisions);
  ASSERT_FALSE(chunks.empty());
  EXPECT_EQ(chunks[0]["data"]["code"], "RESOURCE_NOT_FOUND") << chunks[0];  // as FollowRun says
  // The thread of these results was found for the first request.
  const std::string results = R"({"invoke_type":"resume","tool_result":[{"role":"tool","content":[)"
                              R"({"type":"tool_result","call_id":"c","output":1}]}])" +
                              more;
  known_.reset();
  EXPECT_EQ(SendFrame(results)[0]["data"]["code"], "VALIDATION_ERROR");
  state_.At("t/1").state.in_flight = state::RunInFlight{};
  ON_CALL(state_, FindWaitingThread).WillByDefault(Return(state::WaitingThread{"t/1"}));
  SendFrame(results);
  ASSERT_EQ(accepted_, 2);
  ON_CALL(state_, FindWaitingThread).WillByDefault(Return(NotFound("no such thread")));
  EXPECT_EQ(SendFrame(results)[0]["data"]["code"], "RESOURCE_NOT_FOUND");
  EXPECT_EQ(accepted_, 2);
}

TEST_F(RepeatedRequestTest, ARunThatEndsWithItsConnectionEndsIfItIsGoneEarly) {
  ON_CALL(state_, AcceptRun).WillByDefault([this](const state::AcceptRunRequest&) {
    socket_->Cancel(runtime::CancelReason::kClientGone);
    return state::AcceptRunReply{state::AcceptRunReply::Outcome::kAccepted, RunR1()};
  });
  ON_CALL(state_, FollowRun).WillByDefault(Return(Status(StatusCode::kCancelled, "gone")));
  state::StopRequest stopped;
  EXPECT_CALL(state_, RequestStop).WillOnce([&](const state::StopRequest& stop) {
    stopped = stop;
    return state::StopReply{true, "r1"};
  });
  SendFrame(R"({"messages":[{"role":"user","content":"hi"}],"idempotency_key":"k",)"
            R"("config":{"on_disconnect":"cancel"}})");
  EXPECT_EQ(stopped.thread_id, "t/1");
  EXPECT_EQ(stopped.run_id, "r1");
}

}  // namespace
}  // namespace agent_graph::api
