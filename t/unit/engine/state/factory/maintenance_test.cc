// Maintenance of a database by an administrator: verification and repair.
#include "state/verify/verify.h"

#include <gmock/gmock.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <filesystem>

#include "maintenance_fixture.h"
#include "state/rows/keys.h"
#include "state/rows/numbering.h"

namespace agent_graph::state {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(MaintenanceTest, ARepairGivesNoNumberTwice) {
  Serve([](Client& client) {
    RunTurn(client, "one", "alice", {UserMessage("m1", "secret")});
    RunTurn(client, "two", "bob", {UserMessage("m2")});
    ASSERT_TRUE(client.StoreMemory(MemoryOf("tea", "drinks tea")).ok());
  });
  EXPECT_THAT(Problems(), IsEmpty());
  Open([](LevelDatabase& database) {
    leveldb::WriteBatch batch;
    batch.Delete(keys::Meta(kNextThreadName));
    batch.Delete(keys::Meta(kNextMemoryName));
    ASSERT_TRUE(database.Write(batch, true).ok());
  });
  EXPECT_THAT(Problems(), UnorderedElementsAre(HasSubstr("next_thread_number"),
                                               HasSubstr("next_memory_number")));
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_THAT(Problems(), IsEmpty());
  Serve([](Client& client) {
    RunTurn(client, "three", "alice", {UserMessage("m3")});
    ASSERT_TRUE(client.StoreMemory(MemoryOf("coffee", "drinks coffee")).ok());
    auto ids = [&](const std::string& thread_id) {
      Result<MessagePage> page = client.ListMessages(Scope::All(), thread_id, Page(0));
      EXPECT_TRUE(page.ok());
      return page.ok() ? Ids(page->messages) : std::vector<std::string>();
    };
    EXPECT_THAT(ids("three"), ElementsAre("m3"));
    ASSERT_TRUE(client.DeleteThread(Scope::All(), "three").ok());
    EXPECT_THAT(ids("one"), ElementsAre("m1"));
    EXPECT_THAT(ids("two"), ElementsAre("m2"));
    Result<MemoryPage> memories =
        client.ListMemories(ListMemoriesRequest{Scope::Owner("alice"), {}, 100, ""});
    ASSERT_TRUE(memories.ok());
    EXPECT_THAT(memories->memories, SizeIs(2));
  });
}

// An unreadable thread is removed, but the number in its rows stays in use.
TEST_F(MaintenanceTest, NumbersOfUnreadableThreadsStayTaken) {
  Serve([](Client& client) { RunTurn(client, "one", "alice", {UserMessage("m1", "secret")}); });
  Open([](LevelDatabase& database) {
    leveldb::WriteBatch batch;
    batch.Delete(keys::Meta(kNextThreadName));
    batch.Put(keys::Thread("one"), "damaged");
    ASSERT_TRUE(database.Write(batch, true).ok());
  });
  ASSERT_TRUE(Repair(database_path()).ok());
  Serve([](Client& client) {
    RunTurn(client, "two", "alice", {UserMessage("m2")});
    Result<MessagePage> page = client.ListMessages(Scope::All(), "two", Page(0));
    ASSERT_TRUE(page.ok());
    EXPECT_THAT(Ids(page->messages), ElementsAre("m2"));
  });
}

TEST_F(MaintenanceTest, ABackupThatFailsLeavesNothing) {
  Serve([](Client& client) { RunTurn(client, "one", "alice", {UserMessage("m1")}); });
  const std::string backup = directory_.path() + "/backups/first";
  Open([&](LevelDatabase& database) {
    const std::atomic<bool> stopping{true};
    EXPECT_EQ(database.BackUp(backup, &stopping).status().code(), StatusCode::kUnavailable);
    EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/backups"));
    EXPECT_TRUE(database.BackUp(backup, nullptr).ok());
    EXPECT_EQ(database.BackUp(backup, nullptr).status().code(), StatusCode::kConflict);
  });
}

}  // namespace
}  // namespace agent_graph::state
