// Replies that the state server stores while a client waits for one.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../fixture.h"
#include "state/directory/state_directory.h"
#include "state/leveldb/database/database.h"
#include "state/requests.h"
#include "state/rows/keys.h"

namespace agent_graph::state {
namespace {

// The number of replies that a stopped state server has stored for clients that have not said
// goodbye.
size_t KeptReplies(const std::string& directory) {
  auto database = LevelDatabase::OpenDirectory(StateDirectory::Open(directory)->database_path());
  EXPECT_TRUE(database.ok()) << database.status().ToString();
  if (!database.ok()) return 0;
  size_t kept = 0;
  const std::string prefix = keys::TablePrefix(keys::Table::kReply);
  EXPECT_TRUE((*database)
                  ->Scan(prefix, keys::PrefixEnd(prefix),
                         [&](std::string_view, std::string_view) { return ++kept > 0; })
                  .ok());
  return kept;
}

// One client holds the thread for which a run of the other client waits.
class KeptRepliesTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(begun.ok()); }

  TemporaryDirectory directory;
  std::unique_ptr<StateServer> server = StartServer(directory.path());
  std::unique_ptr<Client> holder = StartClient(directory.path());
  std::unique_ptr<Client> client = StartClient(directory.path());
  const BeginRunRequest held = RunOn("busy");
  const Result<BeginRunReply> begun = holder->BeginRun(held, nullptr);
};

TEST_F(KeptRepliesTest, AWaitingRunHoldsNoAnswersBack) {
  const BeginRunRequest waiting = RunOn("busy");
  std::thread waiter([&] {
    Result<BeginRunReply> granted = client->BeginRun(waiting, nullptr);
    ASSERT_TRUE(granted.ok()) << granted.status().ToString();
    EXPECT_TRUE(client->FinishRun(FinishOf(waiting, *granted)).ok());
  });
  for (bool queued = false; !queued; std::this_thread::yield()) {
    Result<ThreadState> state = holder->GetState(Scope::All(), "busy");
    queued = state.ok() && state->in_flight && !state->in_flight->queued_runs.empty();
  }
  for (int i = 0; i < 100; ++i) RunTurn(*client, "t", "", {UserMessage(Numbered("m", i))});
  server.reset();
  EXPECT_LE(KeptReplies(directory.path()), 1u);
  // The client sends the request again, and it waits as before.
  server = StartServer(directory.path());
  EXPECT_TRUE(holder->FinishRun(FinishOf(held, *begun)).ok());
  waiter.join();
  EXPECT_EQ(client->GetThread(Scope::All(), "busy")->last_run_id, waiting.run_id);
}

TEST_F(KeptRepliesTest, NothingIsDoneTwiceWhileARunWaits) {
  std::thread waiter([&] { EXPECT_TRUE(client->BeginRun(RunOn("busy"), nullptr).ok()); });
  std::atomic<bool> end{false};
  std::atomic<int> count{0};
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 4; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; !end; ++i) {
        const std::string id = std::to_string(writer) + "-" + std::to_string(i);
        EXPECT_TRUE(client->AppendMessages(MessagesOn("t", "", {UserMessage(id)})).ok());
        // If it were executed twice, the message would not be found the second time.
        const Status deleted = client->DeleteMessage(Scope::All(), "t", id);
        EXPECT_TRUE(deleted.ok()) << deleted.ToString();
        ++count;
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    client->DropConnection();
    for (const int target = count + 2; count < target;) std::this_thread::yield();
  }
  end = true;
  for (std::thread& writer : writers) writer.join();
  EXPECT_TRUE(holder->FinishRun(FinishOf(held, *begun)).ok());
  waiter.join();
}

}  // namespace
}  // namespace agent_graph::state
