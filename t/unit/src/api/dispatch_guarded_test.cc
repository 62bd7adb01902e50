// Requests of users who own threads: what the guard lets through, and what it remembers.
#include "../auth/tokens.h"
#include "base/clock.h"
#include "dispatch_fixture.h"

namespace agent_graph::api {
namespace {

constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";

class GuardedDispatchTest : public DispatchTest {
 protected:
  GuardedDispatchTest() {
    settings_.authentication.method = settings::AuthenticationSettings::Method::kJwt;
    settings_.authentication.jwt.algorithm = "HS256";
    settings_.authentication.jwt.secret = kSecret;
    settings_.authorization.policy = settings::AuthorizationSettings::Policy::kOwnership;
    auth::GuardOptions options;
    options.read_thread = [this](const std::string& thread_id) -> Result<state::ThreadRecord> {
      ++owner_reads_;
      const auto owner = owners_.find(thread_id);
      if (owner == owners_.end()) return Status(StatusCode::kNotFound, "thread not found");
      state::ThreadRecord record = Record(thread_id);
      record.owner = owner->second;
      return record;
    };
    options.runtime = &runtime_;
    options.warn = [](const std::string& line) { ADD_FAILURE() << line; };
    guard_ = auth::Guard::Create(settings_, std::move(options)).value();
    api_.guard = guard_.get();
  }

  Answer SendAs(const std::string& user, const std::string& method, const std::string& target,
                const std::string& body = "") {
    bridge::RequestHead head = Head(method, target);
    const json claims = {{"user_id", user}, {"exp", UnixSeconds() + 1000}};
    head.headers.emplace_back("authorization",
                              "Bearer " + auth::testing::HmacToken(claims, kSecret));
    auto exchange = std::make_shared<bridge::Exchange>(bridge::ExchangeAddress{1, 1}, head, outbox_,
                                                       bridge::CreditLimits{});
    exchange->body().Deliver(bridge::Body{.bytes = body, .file = {}});
    runtime::Promise<bool> done;
    runtime_.Spawn([&] {
      Dispatch(exchange, api_);
      done.Set(true);
    });
    EXPECT_TRUE(done.Wait(nullptr, kNoDeadline).ok());
    return Take();
  }

  std::map<std::string, std::string> owners_;  // by thread
  int owner_reads_ = 0;
};

TEST_F(GuardedDispatchTest, TheStateGetsTheScopeOfTheCaller) {
  owners_["t"] = "alice";
  state::Scope scope;
  EXPECT_CALL(state_, GetThread(_, "t")).WillOnce(DoAll(SaveArg<0>(&scope), Return(Record("t"))));
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 200);
  EXPECT_EQ(scope.kind, state::Scope::Kind::kOwner);
  EXPECT_EQ(scope.user_id, "alice");
}

TEST_F(GuardedDispatchTest, AThreadOfAnotherUserIsRefusedBeforeTheStateIsAsked) {
  owners_["t"] = "alice";
  EXPECT_CALL(state_, GetThread(_, _)).Times(0);
  EXPECT_CALL(state_, RequestStop(_)).Times(0);
  EXPECT_EQ(SendAs("bob", "GET", "/v1/threads/t").status, 403);
  // The thread is named by the path, by the body, or by its config.
  for (const char* body :
       {R"({"thread_id":"t"})", R"({"thread_id":"t","config":{"cancel":true}})"}) {
    EXPECT_EQ(SendAs("bob", "POST", "/v1/graph/stop", body).status, 403) << body;
  }
  const std::string more = R"(,"config":{"thread_id":"t"})";
  EXPECT_EQ(SendAs("bob", "POST", "/v1/graph/invoke", Invocation("hi", more)).status, 403);
  EXPECT_EQ(SendAs("alice", "POST", "/v1/graph/invoke", Invocation("hi", more)).status, 200);
}

TEST_F(GuardedDispatchTest, AnInvalidRequestDoesNotTellAHiddenThreadFromAMissingOne) {
  owners_["t"] = "alice";
  const std::string items = "/openai/v1/conversations/*/items";
  const struct {
    std::string method, target, body;
  } invalid[] = {
      {"POST", items, "{"},
      {"POST", items, "{}"},
      {"POST", items, R"({"items":[{"type":"unknown"}]})"},
      {"GET", items + "?limit=0", ""},
      {"POST", "/openai/v1/conversations/*", R"({"metadata":1})"},
      {"GET", "/v1/threads/*/runs?limit=0", ""},
      {"GET", "/v1/threads/*/runs/r/stream?after=x", ""},
      {"POST", "/v1/threads/*/runs/r/cancel", R"({"config":1})"},
  };
  for (const auto& [method, target, body] : invalid) {
    const auto ask = [&](const std::string& thread_id) {
      std::string named = target;
      return SendAs("bob", method, named.replace(named.find('*'), 1, thread_id), body);
    };
    const Answer foreign = ask("t");
    EXPECT_EQ(foreign.status, 404) << target;
    const Answer missing = ask("nobodys");
    EXPECT_EQ(missing.status, 404) << target << missing.body;
  }
  // No thread can have this id.
  EXPECT_EQ(SendAs("bob", "GET", "/openai/v1/conversations/0").status, 400);
}

TEST_F(GuardedDispatchTest, ADeletedThreadIsNoLongerRememberedAsItsOwners) {
  owners_["t"] = "alice";
  EXPECT_CALL(state_, DeleteThread(_, "t")).WillOnce(Return(Status::Ok()));
  EXPECT_EQ(SendAs("alice", "DELETE", "/v1/threads/t", "{}").status, 200);
  owners_["t"] = "bob";
  EXPECT_CALL(state_, GetThread(_, "t")).Times(0);
  const int reads = owner_reads_;
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 403);
  EXPECT_EQ(owner_reads_, reads + 1) << "the guard reads the owner, and refuses by itself";
}

TEST_F(GuardedDispatchTest, ADeletionThatFailedChangesNothing) {
  owners_["t"] = "alice";
  EXPECT_CALL(state_, DeleteThread(_, "t"))
      .WillOnce(Return(Status(StatusCode::kUnavailable, "no state")));
  EXPECT_EQ(SendAs("alice", "DELETE", "/v1/threads/t", "{}").status, 503);
  EXPECT_CALL(state_, GetThread(_, "t")).WillOnce(Return(Record("t")));
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 200);
}

// The owner is remembered, but another worker has deleted the thread.
TEST_F(GuardedDispatchTest, AThreadThatIsGoneIs404AndOneOfAnotherOwnerIs403) {
  owners_["t"] = "alice";
  EXPECT_CALL(state_, GetThread(_, "t"))
      .WillOnce(Return(Record("t")))
      .WillRepeatedly(Return(Status(StatusCode::kNotFound, "thread not found")));
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 200);
  owners_["t"] = "bob";
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 403);
  owners_.clear();
  EXPECT_EQ(SendAs("alice", "GET", "/v1/threads/t").status, 404);
}

TEST_F(GuardedDispatchTest, WhatIsWrittenBelongsToTheCaller) {
  state::PutStateRequest put;
  state::AppendMessagesRequest append;
  EXPECT_CALL(state_, PutState(_)).WillOnce(DoAll(SaveArg<0>(&put), Return(state::ThreadState{})));
  EXPECT_CALL(state_, AppendMessages(_)).WillOnce(DoAll(SaveArg<0>(&append), Return(Status::Ok())));
  EXPECT_EQ(SendAs("alice", "PUT", "/v1/threads/t/state", R"({"state":{}})").status, 200);
  EXPECT_EQ(put.scope.user_id, "alice");
  EXPECT_EQ(put.user_id, "alice");
  EXPECT_EQ(put.thread_id, "t");
  EXPECT_NE(put.creation_id, "");
  EXPECT_EQ(SendAs("alice", "POST", "/v1/threads/t/messages", Invocation("hi")).status, 200);
  EXPECT_EQ(append.scope.user_id, "alice");
  EXPECT_EQ(append.user_id, "alice");
  EXPECT_EQ(append.thread_id, "t");
  EXPECT_NE(append.creation_id, "");
  EXPECT_NE(append.creation_id, put.creation_id);
}

TEST_F(GuardedDispatchTest, StopAndTracesAreThoseOfTheCaller) {
  state::StopRequest stop;
  state::ReadRunsRequest read;
  EXPECT_CALL(state_, RequestStop(_))
      .WillOnce(DoAll(SaveArg<0>(&stop), Return(state::StopReply{})));
  EXPECT_CALL(state_, ReadRuns(_))
      .WillOnce(DoAll(SaveArg<0>(&read), Return(Status(StatusCode::kNotFound, "none"))));
  EXPECT_EQ(SendAs("alice", "POST", "/v1/graph/stop", R"({"thread_id":"t"})").status, 200);
  EXPECT_EQ(stop.scope.user_id, "alice");
  EXPECT_EQ(SendAs("alice", "GET", "/v1/observability/t").status, 200);
  EXPECT_EQ(read.scope.user_id, "alice");
}

}  // namespace
}  // namespace agent_graph::api
