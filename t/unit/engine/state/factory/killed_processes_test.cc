// State servers and workers that are killed: acknowledged data stays, and no operation is executed
// twice.
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "child_process.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Child, DISABLED_Serves) {
  ASSERT_NE(ChildDirectory(), "");
  auto server = StartServer(ChildDirectory());
  for (;;) pause();
}

TEST(Child, DISABLED_HoldsALease) {
  ASSERT_NE(ChildDirectory(), "");
  auto client = StartClient(ChildDirectory());
  BeginRunRequest run = RunOn("held", "", "run-of-the-child");
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(client->AppendRun(AppendOf(run, *begun, {UserMessage("m1")})).ok());
  for (;;) pause();
}

// Polls until the child's run has reached its last node.
void AwaitChildsRun(Service& service) {
  for (;;) {
    Result<ThreadState> state = service.GetState(Scope::All(), "held");
    if (state.ok() && state->in_flight && state->in_flight->current_node == "NODE") return;
    std::this_thread::yield();
  }
}

void ExpectChildsRunLost(Service& service) {
  Result<ThreadState> state = service.GetState(Scope::All(), "held");
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("status":"error")"));
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("reason":"worker_lost")"));
  EXPECT_THAT(state->snapshot.execution_json, HasSubstr(R"("current_node":"NODE")"));
  EXPECT_THAT(Ids(state->window), ElementsAre("m1"));
  Result<std::vector<LogEntry>> log = service.ReadLog(Scope::All(), "held", 0, 10);
  ASSERT_TRUE(log.ok());
  ASSERT_FALSE(log->empty());
  EXPECT_EQ(log->back().kind, "run_finished");
  EXPECT_THAT(log->back().json, HasSubstr("worker_lost"));
}

// Appends numbered log entries in one run until `end` is set; counts the acknowledged ones.
void AppendUntil(Service& service, const std::string& thread_id, const std::atomic<bool>& end,
                 std::atomic<int>& count) {
  BeginRunRequest run = RunOn(thread_id);
  Result<BeginRunReply> begun = service.BeginRun(run, nullptr);
  EXPECT_TRUE(begun.ok()) << begun.status().ToString();
  while (!end) {
    AppendRunRequest append = AppendOf(run, *begun);
    append.entries = {{"step", std::to_string(count), 0}};
    Status status = service.AppendRun(append).status();
    EXPECT_TRUE(status.ok()) << status.ToString();
    if (!status.ok()) break;
    ++count;
  }
}

// Waits until `more` further entries are acknowledged.
void AwaitProgress(const std::atomic<int>& count, int more) {
  for (const int target = count + more; count < target;) std::this_thread::yield();
}

void ExpectEachEntryOnce(Service& service, const std::string& thread_id, int count) {
  Result<std::vector<LogEntry>> log = service.ReadLog(Scope::All(), thread_id, 0, 1'000'000);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  ASSERT_EQ(log->size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    ASSERT_EQ((*log)[static_cast<size_t>(i)].json, std::to_string(i));
  }
}

TEST(StateServer, NothingIsLostOrDoneTwiceWhenConnectionsBreak) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  auto reader = StartClient(directory.path());
  std::atomic<bool> end{false};
  std::atomic<int> count{0};
  std::thread writer([&] { AppendUntil(*client, "t", end, count); });
  for (int i = 0; i < 50; ++i) {
    client->DropConnection();
    AwaitProgress(count, 2);
  }
  end = true;
  writer.join();
  ExpectEachEntryOnce(*reader, "t", count);
}

TEST(StateServer, NothingIsLostOrDoneTwiceWhenOwnersAreKilled) {
  TemporaryDirectory directory;
  auto server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  auto client = StartClient(directory.path());
  auto reader = StartClient(directory.path());
  std::atomic<bool> end{false};
  std::atomic<int> count{0};
  std::thread writer([&] { AppendUntil(*client, "t", end, count); });
  for (int i = 0; i < 4; ++i) {
    AwaitProgress(count, 20);
    server->Kill();
    server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  }
  AwaitProgress(count, 20);
  end = true;
  writer.join();
  ExpectEachEntryOnce(*reader, "t", count);
}

TEST(StateServer, RunOfAKilledWorkerEndsAsLostAndTheNextOneGetsTheThread) {
  TemporaryDirectory directory;
  auto server = StartServer(directory.path());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_HoldsALease", directory.path());
  AwaitChildsRun(*client);
  worker.Kill();
  Result<BeginRunReply> begun = client->BeginRun(RunOn("held"), nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(begun->lease_epoch, 2u);
  ExpectChildsRunLost(*client);
}

TEST(StateServer, RunOfAWorkerKilledWithItsOwnerIsFreedByTheNextOwner) {
  TemporaryDirectory directory;
  auto server = std::make_unique<ChildProcess>("Child.DISABLED_Serves", directory.path());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_HoldsALease", directory.path());
  AwaitChildsRun(*client);
  server->Kill();
  worker.Kill();
  auto next = StartServer(directory.path());
  ASSERT_TRUE(client->BeginRun(RunOn("held"), nullptr).ok());
  ExpectChildsRunLost(*client);
}

}  // namespace
}  // namespace agent_graph::state
