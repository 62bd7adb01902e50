// A worker process that stops responding while it holds a lease.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "child_process.h"
#include "state/requests.h"

namespace agent_graph::state {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Child, DISABLED_WritesWhenItIsThawed) {
  ASSERT_NE(ChildDirectory(), "");
  auto client = StartClient(ChildDirectory());
  BeginRunRequest run = RunOn("held", "", "run-of-the-child");
  run.run_ms_max = 1000;
  Result<BeginRunReply> begun = client->BeginRun(run, nullptr);
  ASSERT_TRUE(begun.ok());
  ASSERT_TRUE(client->AppendRun(AppendOf(run, *begun, {UserMessage("m1")})).ok());
  // Until another client has the lease.
  for (Status written; written.code() != StatusCode::kFenced;) {
    written = client->AppendRun(AppendOf(run, *begun)).status();
    std::this_thread::sleep_for(milliseconds(1));
  }
  const Status ended = client->FinishRun(FinishOf(run, *begun, {AssistantMessage("late")}));
  const bool refused = ended.code() == StatusCode::kFenced;
  ASSERT_TRUE(
      client
          ->AppendMessages(MessagesOn("witness", "", {UserMessage(refused ? "refused" : "taken")}))
          .ok());
  for (;;) pause();
}

TEST(FrozenProcess, LosesItsLeaseAtTheDeadlineAndIsFenced) {
  TemporaryDirectory directory;
  std::mutex mutex;
  std::vector<std::string> alerts;
  StateOptions options;
  options.directory = directory.path();
  options.log = [&](LogLevel level, const std::string& text) {
    std::lock_guard lock(mutex);
    if (level == LogLevel::kAlert) alerts.push_back(text);
  };
  Result<std::unique_ptr<StateServer>> server = StartStateServer(options);
  ASSERT_TRUE(server.ok());
  auto client = StartClient(directory.path());
  ChildProcess worker("Child.DISABLED_WritesWhenItIsThawed", directory.path());
  while (!client->GetMessage(Scope::All(), "held", "m1").ok()) std::this_thread::yield();
  worker.Freeze();

  // It is answered and recorded; what would carry it out does not run.
  Result<StopReply> stop = client->RequestStop({Scope::All(), "held"});
  ASSERT_TRUE(stop.ok());
  EXPECT_TRUE(stop->running);
  EXPECT_TRUE(client->GetState(Scope::All(), "held")->in_flight->stop_requested);

  BeginRunRequest next = RunOn("held");
  next.wait_ms_max = 60'000;
  Result<BeginRunReply> begun = client->BeginRun(next, nullptr);
  ASSERT_TRUE(begun.ok()) << begun.status().ToString();
  EXPECT_EQ(begun->lease_epoch, 2u);
  {
    std::lock_guard lock(mutex);
    EXPECT_THAT(alerts, ElementsAre(HasSubstr("does not answer")));
  }
  worker.Thaw();
  while (!client->GetThread(Scope::All(), "witness").ok()) std::this_thread::yield();
  EXPECT_TRUE(client->GetMessage(Scope::All(), "witness", "refused").ok());
  EXPECT_EQ(client->GetMessage(Scope::All(), "held", "late").status().code(),
            StatusCode::kNotFound);
  EXPECT_TRUE(client->FinishRun(FinishOf(next, *begun, {UserMessage("m2")})).ok());
  client->Stop();
}

}  // namespace
}  // namespace agent_graph::state
