// Accepted runs: stored with their request, granted to a client that takes runs, and granted again
// when that client is lost.
#include <gmock/gmock.h>

#include "accepted_runs_fixture.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Outcome = AcceptRunReply::Outcome;

TEST_P(AcceptedRunsTest, ARunIsGrantedBegunAndFinished) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  const RunRecord accepted = Accept(RequestOn("t", "r1"));
  EXPECT_TRUE(accepted.accepted);
  const GrantedRun granted = grants.Next();
  EXPECT_EQ(granted.thread_id, "t");
  EXPECT_EQ(granted.run_id, "r1");
  EXPECT_EQ(granted.request, "request of r1");
  EXPECT_EQ(granted.attempt, 1u);
  EXPECT_EQ(granted.current_node, "");
  const BeginRunReply begun = Begin(*worker, granted);
  EXPECT_EQ(begun.thread_number, accepted.thread_number);
  EXPECT_EQ(Run("t", "r1").state, RunState::kRunning);
  EXPECT_TRUE(worker->AppendRun(Append(granted, begun, {{"run_started", "{}", 0}})).ok());
  EXPECT_EQ(Run("t", "r1").current_node, "work");
  Finish(*worker, granted, begun);
  const RunRecord done = Run("t", "r1");
  EXPECT_EQ(done.state, RunState::kDone);
  EXPECT_EQ(done.usage_json, R"({"model_calls":1})");
  EXPECT_GT(done.finished_micros, 0);
  const Result<FollowRunReply> log = Follow("t", "r1");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(Kinds(*log), ElementsAre("run_started", "run_finished"));
  EXPECT_TRUE(log->complete);
}

TEST_P(AcceptedRunsTest, ARunWaitsForAClientThatTakesRuns) {
  Accept(RequestOn("t", "r1"));
  EXPECT_EQ(Run("t", "r1").state, RunState::kQueued);
  Grants grants;
  Connect(grants.Receiver());
  EXPECT_EQ(grants.Next().run_id, "r1");
}

TEST_P(AcceptedRunsTest, ALostRunIsGrantedAgainWithItsPlace) {
  Grants first_grants;
  Client* first = Connect(first_grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = first_grants.Next();
  const BeginRunReply begun = Begin(*first, granted);
  const LogEntry change = {
      "state_update", "{}", 0,
      StateEffect{.fields = {{.name = "count", .value_json = "7", .position = 1}}}};
  AppendRunRequest append = Append(granted, begun, {{"run_started", "{}", 0}, change});
  append.first_entry = 0;
  append.messages = {UserMessage("m1")};
  ASSERT_TRUE(first->AppendRun(append).ok());
  Grants second_grants;
  Client* second = Connect(second_grants.Receiver());
  Leave(first);
  const GrantedRun again = second_grants.Next();
  EXPECT_EQ(again.run_id, "r1");
  EXPECT_EQ(again.attempt, 2u);
  EXPECT_EQ(again.current_node, "work");
  EXPECT_EQ(again.step, 3);
  const BeginRunReply next = Begin(*second, again);
  EXPECT_GT(next.lease_epoch, begun.lease_epoch);
  EXPECT_EQ(next.log_index, begun.log_index + 2);
  EXPECT_EQ(next.state.snapshot.fields_json, R"({"count":7})");
  EXPECT_THAT(Ids(next.state.window), ElementsAre("m1"));
  // The thread stays taken between the attempts.
  BeginRunRequest other = RunOn("t");
  other.enqueue_if_busy = false;
  EXPECT_EQ(service().BeginRun(other, nullptr).status().code(), StatusCode::kBusy);
  ASSERT_TRUE(second->AppendRun(Append(again, next, {{"attempt_started", "{}", 0}})).ok());
  Finish(*second, again, next);
  const Result<FollowRunReply> log = Follow("t", "r1");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(Kinds(*log),
              ElementsAre("run_started", "state_update", "attempt_started", "run_finished"));
  EXPECT_NE(log->entries.front().lease_epoch, log->entries.back().lease_epoch);
  EXPECT_EQ(Run("t", "r1").attempt, 2u);
}

TEST_P(AcceptedRunsTest, AnAttemptThatWasReplacedCannotWrite) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = grants.Next();
  const BeginRunReply begun = Begin(*worker, granted);
  ASSERT_TRUE(worker->HandOverRun("t", "r1", 0).ok());
  const GrantedRun again = grants.Next();  // after a pause, because nobody else takes it
  EXPECT_EQ(again.attempt, 1u);
  EXPECT_EQ(worker->AppendRun(Append(granted, begun, {{"late", "{}", 0}})).status().code(),
            StatusCode::kFenced);
}

TEST_P(AcceptedRunsTest, ARunHandedOverGoesToAnotherClient) {
  Grants leaving_grants;
  Client* leaving = Connect(leaving_grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = leaving_grants.Next();
  Begin(*leaving, granted);
  Grants grants;
  Connect(grants.Receiver());
  leaving->RefuseGrants();
  ASSERT_TRUE(leaving->HandOverRun("t", "r1", 0).ok());
  EXPECT_EQ(grants.Next().attempt, 1u);
  EXPECT_TRUE(leaving_grants.empty());
}

TEST_P(AcceptedRunsTest, ALostRunThatIsNotContinuedEndsWithItsFields) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  AcceptRunRequest accept = RequestOn("t", "r1");
  accept.continued_until_micros = 0;
  Accept(accept);
  Begin(*worker, grants.Next());
  Leave(worker);
  // Waits for the end of the lost run.
  EXPECT_TRUE(service().BeginRun(RunOn("t"), nullptr).ok());
  const RunRecord lost = Run("t", "r1");
  EXPECT_EQ(lost.state, RunState::kError);
  EXPECT_EQ(lost.reason, "worker_lost");
}

TEST_P(AcceptedRunsTest, QueuedRunsAreGrantedInTheirOrder) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  Accept(RequestOn("t", "r3"));
  EXPECT_EQ(Run("t", "r2").state, RunState::kQueued);
  for (const std::string run_id : {"r1", "r2", "r3"}) {
    const GrantedRun granted = grants.Next();
    EXPECT_EQ(granted.run_id, run_id);
    Finish(*worker, granted, Begin(*worker, granted));
  }
}

TEST_P(AcceptedRunsTest, AFullQueueRefusesARunAndStoresNothing) {
  AcceptRunRequest accept = RequestOn("t", "r1");
  Accept(accept);
  accept = RequestOn("t", "r2");
  accept.begin.queue_max = 0;
  accept.key = RunKey{"/route", "key", "hash"};
  EXPECT_EQ(service().AcceptRun(accept).status().code(), StatusCode::kBusy);
  EXPECT_EQ(service().GetRun({Scope::All(), "t", "r2"}).status().code(), StatusCode::kNotFound);
  // The key was not stored either.
  accept.begin.queue_max = 16;
  Accept(accept);
}

TEST_P(AcceptedRunsTest, AKeyLeadsToItsRun) {
  AcceptRunRequest accept = RequestOn("t", "r1", "ada");
  accept.key = RunKey{"/route", "key", "hash"};
  Accept(accept);
  accept.begin.run_id = "r2";
  const Result<AcceptRunReply> repeated = service().AcceptRun(accept);
  ASSERT_TRUE(repeated.ok());
  EXPECT_EQ(repeated->outcome, Outcome::kRepeated);
  EXPECT_EQ(repeated->run.run_id, "r1");
  accept.key->body_hash = "other";
  EXPECT_EQ(service().AcceptRun(accept)->outcome, Outcome::kOtherBody);
  accept.key->body_hash = "hash";
  accept.key->route = "/other";
  EXPECT_EQ(service().AcceptRun(accept)->outcome, Outcome::kAccepted);
  // Another user's key of the same name is another key.
  AcceptRunRequest other = RequestOn("theirs", "r9", "bob");
  other.key = RunKey{"/route", "key", "hash"};
  EXPECT_EQ(service().AcceptRun(other)->outcome, Outcome::kAccepted);
}

TEST_P(AcceptedRunsTest, AClaimedKeyKeepsItsFirstValue) {
  const int64_t later = UnixMicros() + int64_t{3600} * 1'000'000;
  const auto claim = [&](const std::string& user, const std::string& value) {
    const Result<KeyRecord> claimed =
        service().ClaimKey({user, {"/route", "key", "hash"}, value, later});
    return claimed.ok() ? claimed->value : claimed.status().ToString();
  };
  EXPECT_EQ(service().FindKey({"ada", "/route", "key"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(claim("ada", "first"), "first");
  EXPECT_EQ(claim("ada", "second"), "first");
  EXPECT_EQ(claim("bob", "his"), "his");
  EXPECT_EQ(service().FindKey({"ada", "/route", "key"})->value, "first");
  EXPECT_EQ(service().FindKey({"ada", "/other", "key"}).status().code(), StatusCode::kNotFound);
  const std::string too_long(kKeyValueBytesMax + 1, 'x');
  EXPECT_EQ(service().ClaimKey({"", {"/route", "k", ""}, too_long, later}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(AcceptedRunsTest, AClaimEndsAtItsTime) {
  const RunKey key{"/route", "key", ""};
  ASSERT_TRUE(service().ClaimKey({"ada", key, "old", UnixMicros() - 1'000'000}).ok());
  EXPECT_EQ(service().FindKey({"ada", "/route", "key"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ClaimKey({"ada", key, "new", UnixMicros() + 3'600'000'000})->value, "new");
}

TEST_P(AcceptedRunsTest, AKeyNamesTheRunThatItBegan) {
  AcceptRunRequest accept = RequestOn("t", "r1", "ada");
  accept.key = RunKey{"/route", "key", "hash"};
  Accept(accept);
  const Result<KeyRecord> found = service().FindKey({"ada", "/route", "key"});
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->thread_id, "t");
  EXPECT_EQ(found->run_id, "r1");
  const Result<RunRecord> run = service().GetRun({Scope::All(), "t", "r1"});
  ASSERT_TRUE(run.ok());
  EXPECT_NE(found->thread_number, 0u);
  EXPECT_EQ(found->thread_number, run->thread_number);
  EXPECT_EQ(service().FindKey({"bob", "/route", "key"}).status().code(), StatusCode::kNotFound);
  // A run's key cannot be claimed.
  const Result<KeyRecord> claimed =
      service().ClaimKey({"ada", *accept.key, "value", UnixMicros() + 3'600'000'000});
  EXPECT_EQ(claimed->run_id, "r1");
}

TEST_P(AcceptedRunsTest, AKeyOfADeletedThreadStartsNoNewRun) {
  AcceptRunRequest accept = RequestOn("t", "r1");
  accept.key = RunKey{"/route", "key", "hash"};
  Accept(accept);
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(service().AcceptRun(accept)->outcome, Outcome::kRunDeleted);
}

TEST_P(AcceptedRunsTest, RunsOfADeletedThreadAreNotGranted) {
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "t").ok());
  Accept(RequestOn("other", "r3"));
  Grants grants;
  Connect(grants.Receiver());
  EXPECT_EQ(grants.Next().run_id, "r3");
  EXPECT_EQ(service().GetRun({Scope::All(), "t", "r1"}).status().code(), StatusCode::kNotFound);
}

TEST_P(AcceptedRunsTest, AGrantOfADeletedThreadBringsItNotBack) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = grants.Next();
  ASSERT_TRUE(service().DeleteThread(Scope::All(), "t").ok());
  EXPECT_EQ(worker->BeginRun(BeginOf(granted), nullptr).status().code(), StatusCode::kFenced);
  EXPECT_EQ(service().GetThread(Scope::All(), "t").status().code(), StatusCode::kNotFound);
}

TEST_P(AcceptedRunsTest, AGrantOfARunThatHasEndedBeginsNothing) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = grants.Next();
  Finish(*worker, granted, Begin(*worker, granted));
  EXPECT_EQ(worker->BeginRun(BeginOf(granted), nullptr).status().code(), StatusCode::kFenced);
  EXPECT_EQ(Run("t", "r1").state, RunState::kDone);
}

TEST_P(AcceptedRunsTest, ARunWithoutAWorkerCanBeStopped) {
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  const Result<StopReply> stopped = service().RequestStop({Scope::All(), "t", false, "r1"});
  ASSERT_TRUE(stopped.ok());
  EXPECT_TRUE(stopped->running);
  EXPECT_EQ(Run("t", "r1").state, RunState::kStopped);
  const Result<StopReply> queued = service().RequestStop({Scope::All(), "t", true, "r2"});
  ASSERT_TRUE(queued.ok());
  EXPECT_EQ(Run("t", "r2").state, RunState::kStopped);
  EXPECT_TRUE(service().BeginRun(RunOn("t"), nullptr).ok());
}

TEST_P(AcceptedRunsTest, ARunWithoutAWorkerEndsAtItsDeadline) {
  AcceptRunRequest accept = RequestOn("t", "r1");
  accept.deadline_micros = UnixMicros() + 50'000;
  Accept(accept);
  const FollowRunReply end = AwaitEnd("t", "r1");
  EXPECT_EQ(end.run.state, RunState::kError);
  EXPECT_EQ(end.run.reason, "deadline");
  EXPECT_GT(end.run.finished_micros, 0);
  EXPECT_THAT(Kinds(end), IsEmpty());
  EXPECT_TRUE(service().BeginRun(RunOn("t"), nullptr).ok()) << "the thread is free";
}

// Its deadline may pass before it has left, if the machine is slow: it ends in the same way.
TEST_P(AcceptedRunsTest, ARunThatHasLostItsWorkerEndsAtItsDeadline) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  AcceptRunRequest accept = RequestOn("t", "r1");
  accept.deadline_micros = UnixMicros() + 1'000'000;
  Accept(accept);
  Accept(RequestOn("t", "r2"));
  const GrantedRun granted = grants.Next();
  const BeginRunReply begun = Begin(*worker, granted);
  ASSERT_TRUE(worker->AppendRun(Append(granted, begun, {{"run_started", "{}", 0}})).ok());
  Leave(worker);
  const FollowRunReply end = AwaitEnd("t", "r1");
  EXPECT_EQ(end.run.state, RunState::kError);
  EXPECT_EQ(end.run.reason, "deadline");
  EXPECT_THAT(Kinds(end), ElementsAre("run_started", "error", "run_finished"));
  Connect(grants.Receiver());
  EXPECT_EQ(grants.Next().run_id, "r2") << "the next run has the thread";
}

INSTANTIATE_TEST_SUITE_P(Backends, AcceptedRunsTest, testing::ValuesIn(AllSetups()), SetupName);

class LastingRunsTest : public AcceptedRunsTest {};

TEST_P(LastingRunsTest, AcceptedRunsOutliveTheStateServer) {
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  Restart();
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  GrantedRun granted = grants.Next();
  EXPECT_EQ(granted.run_id, "r1");
  EXPECT_EQ(granted.request, "request of r1");
  Restart();
  // The client holds the run, so the next server does not grant it again.
  Finish(*worker, granted, Begin(*worker, granted));
  granted = grants.Next();
  EXPECT_EQ(granted.run_id, "r2");
  EXPECT_EQ(granted.attempt, 1u);
}

TEST_P(LastingRunsTest, TheDeadlineOfARunWithoutAWorkerOutlivesTheStateServer) {
  AcceptRunRequest accept = RequestOn("t", "r1");
  accept.deadline_micros = UnixMicros() + 1'000'000;
  Accept(accept);
  Restart();
  EXPECT_EQ(AwaitEnd("t", "r1").run.reason, "deadline");
}

INSTANTIATE_TEST_SUITE_P(Backends, LastingRunsTest, testing::ValuesIn(LastingSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state
