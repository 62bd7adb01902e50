// Accepted runs: stored with their request, granted to a client that takes runs, granted again when
// that client is lost, and followed through their log.
#include <gmock/gmock.h>

#include <thread>

#include "conformance.h"
#include "grants.h"
#include "runtime/cancellation.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Outcome = AcceptRunReply::Outcome;

class AcceptedRunsTest : public ConformanceTest {
 protected:
  static AcceptRunRequest RequestOn(const std::string& thread_id, const std::string& run_id,
                                    const std::string& user = "") {
    AcceptRunRequest accept;
    accept.begin = RunOn(thread_id, user, run_id);
    accept.request = "request of " + run_id;
    accept.continued_until_micros = UnixMicros() + int64_t{3600} * 1'000'000;
    return accept;
  }
  RunRecord Accept(const AcceptRunRequest& accept) {
    Result<AcceptRunReply> reply = service().AcceptRun(accept);
    EXPECT_TRUE(reply.ok()) << reply.status().ToString();
    if (!reply.ok()) return {};
    EXPECT_EQ(reply->outcome, Outcome::kAccepted);
    return reply->run;
  }
  static BeginRunRequest BeginOf(const GrantedRun& granted) {
    BeginRunRequest begin = RunOn(granted.thread_id, "", granted.run_id);
    begin.granted = true;
    return begin;
  }
  BeginRunReply Begin(Client& worker, const GrantedRun& granted) {
    Result<BeginRunReply> begun = worker.BeginRun(BeginOf(granted), nullptr);
    EXPECT_TRUE(begun.ok()) << begun.status().ToString();
    return begun.ok() ? *begun : BeginRunReply();
  }
  static AppendRunRequest Append(const GrantedRun& run, const BeginRunReply& begun,
                                 std::vector<LogEntry> entries) {
    AppendRunRequest append = AppendOf(RunOn(run.thread_id, "", run.run_id), begun);
    append.entries = std::move(entries);
    append.current_node = "work";
    append.step = 3;
    return append;
  }
  void Finish(Client& worker, const GrantedRun& run, const BeginRunReply& begun) {
    FinishRunRequest finish;
    finish.append = Append(run, begun, {{"run_finished", "{}", 0}});
    finish.status = "done";
    finish.usage_json = R"({"model_calls":1})";
    const Status status = worker.FinishRun(finish);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  RunRecord Run(const std::string& thread_id, const std::string& run_id,
                const Scope& scope = Scope::All()) {
    Result<RunRecord> run = service().GetRun({scope, thread_id, run_id});
    EXPECT_TRUE(run.ok()) << run.status().ToString();
    return run.ok() ? *run : RunRecord();
  }
  Result<FollowRunReply> Follow(const std::string& thread_id, const std::string& run_id,
                                uint64_t first = 0, int64_t wait_ms = 0) {
    FollowRunRequest follow;
    follow.thread_id = thread_id;
    follow.run_id = run_id;
    follow.first = first;
    follow.wait_ms = wait_ms;
    return service().FollowRun(follow, nullptr);
  }
  static std::vector<std::string> Kinds(const FollowRunReply& reply) {
    std::vector<std::string> kinds;
    for (const IndexedEntry& entry : reply.entries) kinds.push_back(entry.entry.kind);
    return kinds;
  }
};

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
  ASSERT_TRUE(worker->HandOverRun("t", "r1").ok());
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
  ASSERT_TRUE(leaving->HandOverRun("t", "r1").ok());
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

TEST_P(AcceptedRunsTest, ARunThatWasStoppedInTheQueueHasNoEntries) {
  Accept(RequestOn("t", "r1"));
  Accept(RequestOn("t", "r2"));
  ASSERT_TRUE(service().RequestStop({Scope::All(), "t", true, "r2"}).ok());
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  const GrantedRun granted = grants.Next();
  Finish(*worker, granted, Begin(*worker, granted));
  const Result<FollowRunReply> log = Follow("t", "r2");
  ASSERT_TRUE(log.ok());
  EXPECT_THAT(Kinds(*log), IsEmpty()) << "those of r1";
  EXPECT_TRUE(log->complete);
}

TEST_P(AcceptedRunsTest, OtherUsersFindNoRun) {
  Accept(RequestOn("t", "r1", "ada"));
  const Scope bob = Scope::Owner("bob");
  EXPECT_EQ(service().GetRun({bob, "t", "r1"}).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(service().ListRuns({bob, "t", {}, 10, ""}).status().code(), StatusCode::kNotFound);
  FollowRunRequest follow;
  follow.scope = bob;
  follow.thread_id = "t";
  follow.run_id = "r1";
  EXPECT_EQ(service().FollowRun(follow, nullptr).status().code(), StatusCode::kNotFound);
}

TEST_P(AcceptedRunsTest, RunsAreListedNewestFirstInPages) {
  for (const std::string run_id : {"r1", "r2", "r3"}) {
    Result<BeginRunReply> begun = service().BeginRun(RunOn("t", "", run_id), nullptr);
    ASSERT_TRUE(begun.ok());
    FinishRunRequest finish;
    finish.append = AppendOf(RunOn("t", "", run_id), *begun);
    finish.status = run_id == "r2" ? "error" : "done";
    finish.reason = run_id == "r2" ? "MODEL" : "";
    ASSERT_TRUE(service().FinishRun(finish).ok());
  }
  std::vector<std::string> ids;
  std::string cursor;
  do {
    Result<RunPage> page = service().ListRuns({Scope::All(), "t", {}, 2, cursor});
    ASSERT_TRUE(page.ok());
    for (const RunRecord& run : page->runs) ids.push_back(run.run_id);
    cursor = page->next_cursor;
  } while (!cursor.empty());
  EXPECT_THAT(ids, ElementsAre("r3", "r2", "r1"));
  Result<RunPage> failed = service().ListRuns({Scope::All(), "t", RunState::kError, 10, ""});
  ASSERT_TRUE(failed.ok());
  ASSERT_THAT(failed->runs, SizeIs(1));
  EXPECT_EQ(failed->runs[0].reason, "MODEL");
  EXPECT_EQ(service().ListRuns({Scope::All(), "t", {}, 2, "x"}).status().code(),
            StatusCode::kInvalidArgument);
}

TEST_P(AcceptedRunsTest, AFollowerWaitsForEntriesAndForTheEnd) {
  Grants grants;
  Client* worker = Connect(grants.Receiver());
  Accept(RequestOn("t", "r1"));
  const GrantedRun granted = grants.Next();
  const BeginRunReply begun = Begin(*worker, granted);
  Result<FollowRunReply> first = Status(StatusCode::kInternal, "not read");
  std::thread reader([&] { first = Follow("t", "r1", 0, kFollowWaitMsMax); });
  ASSERT_TRUE(worker->AppendRun(Append(granted, begun, {{"run_started", "{}", 0}})).ok());
  reader.join();
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_THAT(Kinds(*first), ElementsAre("run_started"));
  EXPECT_FALSE(first->complete);
  const uint64_t next = first->entries.back().index + 1;
  Result<FollowRunReply> last = Status(StatusCode::kInternal, "not read");
  std::thread waiting([&] { last = Follow("t", "r1", next, kFollowWaitMsMax); });
  Finish(*worker, granted, begun);
  waiting.join();
  ASSERT_TRUE(last.ok());
  EXPECT_THAT(Kinds(*last), ElementsAre("run_finished"));
  EXPECT_TRUE(last->complete);
}

TEST_P(AcceptedRunsTest, AFollowersWaitEnds) {
  Accept(RequestOn("t", "r1"));
  const Result<FollowRunReply> nothing = Follow("t", "r1", 0, 10);
  ASSERT_TRUE(nothing.ok()) << nothing.status().ToString();
  EXPECT_THAT(nothing->entries, IsEmpty());
  EXPECT_FALSE(nothing->complete);
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

INSTANTIATE_TEST_SUITE_P(Backends, LastingRunsTest, testing::ValuesIn(LastingSetups()), SetupName);

}  // namespace
}  // namespace agent_graph::state
