// The commands of agent-graph-admin on a real state directory, with and without a state server.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>

#include "admin_fixture.h"
#include "state/leveldb/database/database.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/rows/transaction.h"
#include "state/store/format.h"

namespace agent_graph::admin {
namespace {

namespace fs = std::filesystem;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Expects a failure whose text contains `reason`, and no output.
void ExpectRefusal(const Ran& ran, const std::string& reason) {
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.err.starts_with("agent-graph-admin: ")) << ran.err;
  EXPECT_TRUE(Contains(ran.err, reason)) << ran.err;
  EXPECT_EQ(ran.out, "");
}

class AdminCommands : public AdminTest {
 protected:
  std::string Backup(const std::string& name) const { return state_ + "/backups/" + name; }
  // False: restore cannot replace a database in one step.
  bool CanExchangeFolders() const {
    const std::string one = directory_ + "/one";
    const std::string other = directory_ + "/other";
    fs::create_directory(one);
    fs::create_directory(other);
    return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
  }
  void ExpectThreads(int count) {
    const Ran ran = Admin({"verify", state_});
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_TRUE(Contains(ran.out, std::to_string(count) + " threads, 0 memories, 0 problems\n"))
        << ran.out;
  }
};

TEST_F(AdminCommands, VerifyCountsRowsWithAndWithoutAServer) {
  MakeState();
  ExpectThreads(1);
  StartServer();
  ExpectThreads(1);
  AddThread("second");
  ExpectThreads(2);
}

TEST_F(AdminCommands, VerifyFailsForADamagedDatabase) {
  MakeState();
  std::ofstream(state_ + "/db/CURRENT") << "MANIFEST-999999\n";
  const Ran ran = Admin({"verify", state_});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err + ran.out, "");
}

TEST_F(AdminCommands, BackupWorksWithAndWithoutAServer) {
  MakeState();
  const Ran stopped = Admin({"backup", state_, "stopped"});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_TRUE(stopped.out.starts_with(Backup("stopped") + ": ")) << stopped.out;
  EXPECT_TRUE(Contains(stopped.out, "; 0 files, 0 bytes\n")) << stopped.out;
  StartServer();
  AddThread("second");
  EXPECT_EQ(Admin({"backup", state_, "running"}).code, 0);
  EXPECT_TRUE(Contains(Admin({"verify", Backup("stopped")}).out, " 1 threads, "));
  EXPECT_TRUE(Contains(Admin({"verify", Backup("running")}).out, " 2 threads, "));
}

TEST_F(AdminCommands, BackupRefusesBadAndUsedNames) {
  MakeState();
  for (const std::string name :
       {"", ".", "..", "../x", "a/b", ".hidden", "a b", "unfinished-database-1"}) {
    ExpectRefusal(Admin({"backup", state_, name}), "NAME has letters");
  }
  ExpectRefusal(Admin({"backup", state_, std::string(65, 'x')}), "NAME has letters");
  EXPECT_EQ(Admin({"backup", state_, std::string(64, 'x')}).code, 0);
  ExpectRefusal(Admin({"backup", state_, std::string(64, 'x')}), "a backup of this name exists");
}

TEST_F(AdminCommands, BackupRemovesWhatAKilledOneLeft) {
  MakeState();
  fs::create_directories(Backup(".unfinished/db"));
  fs::create_directories(Backup("unfinished-database-1"));
  ASSERT_EQ(Admin({"backup", state_, "name"}).code, 0);
  EXPECT_FALSE(fs::exists(Backup(".unfinished")));
  EXPECT_FALSE(fs::exists(Backup("unfinished-database-1")));
}

TEST_F(AdminCommands, BackupTakesTheUploadsAlong) {
  MakeState();
  fs::create_directories(state_ + "/uploads");
  const std::string elsewhere = directory_ + "/elsewhere";
  fs::create_directories(elsewhere);
  Write("elsewhere/file", "12345");
  const Ran ran = Admin({"backup", state_, "name", elsewhere});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(Backup("name/uploads"))) << ran.out;
}

TEST_F(AdminCommands, RestoreReplacesTheStateAndKeepsThePrevious) {
  for (const bool by_name : {true, false}) {
    fs::remove_all(state_);
    MakeState();
    ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
    StartServer();
    AddThread("second");
    StopServer();
    ExpectThreads(2);
    const Ran ran = Admin({"restore", state_, by_name ? "first" : Backup("first")});
    EXPECT_EQ(ran.code, 0) << ran.err;
    ExpectThreads(1);
    const std::string told = "restored, 0 files; what was there before is ";
    ASSERT_TRUE(ran.out.starts_with(told)) << ran.out;
    // There were no uploads.
    const std::string before = ran.out.substr(told.size(), ran.out.size() - told.size() - 1);
    EXPECT_TRUE(fs::exists(before + "/CURRENT")) << before;
    StartServer();  // the restored state can be served and written
    AddThread("third");
    ExpectThreads(2);
    StopServer();
  }
}

TEST_F(AdminCommands, RestoreOnANewMachineKeepsNothing) {
  MakeState();
  ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
  const std::string backup = state_ + "-moved";
  fs::rename(Backup("first"), backup);
  fs::remove_all(state_);
  fs::create_directory(state_);
  fs::permissions(state_, fs::perms::owner_all);
  const Ran ran = Admin({"restore", state_, backup});
  fs::remove_all(backup);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "restored, 0 files\n");
  ExpectThreads(1);
}

// A program that is killed at any moment then leaves a database. A moment without one is short, so
// this does not find it each time.
TEST_F(AdminCommands, ThereIsADatabaseDuringARestore) {
  if (!CanExchangeFolders()) GTEST_SKIP() << "the file system cannot exchange folders";
  MakeState();
  ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
  std::atomic<bool> ends{false};
  std::atomic<int> missing{0};
  std::thread watch([&] {
    const std::string current = state_ + "/db/CURRENT";
    while (!ends) missing += access(current.c_str(), F_OK) != 0 ? 1 : 0;
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Admin({"restore", state_, "first"}).code, 0);
  ends = true;
  watch.join();
  EXPECT_EQ(missing, 0);
}

TEST_F(AdminCommands, RestoreRefusesWhatALaterVersionHasWritten) {
  MakeState();
  ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
  {
    const auto database = state::LevelDatabase::OpenDirectory(Backup("first/db"));
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    state::Transaction transaction(**database);
    transaction.PutRow(state::keys::Meta(state::kFormatName), state::kStateFormat + 1);
    transaction.Accept(true);
    ASSERT_TRUE(transaction.Commit().ok());
  }
  ExpectRefusal(Admin({"restore", state_, "first"}), "a later version has written it");
  ExpectThreads(1);
}

TEST_F(AdminCommands, RestoreAndRepairNeedTheServerStopped) {
  MakeState();
  ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
  StartServer();
  ExpectRefusal(Admin({"restore", state_, "first"}), "the state is in use: stop nginx first");
  ExpectRefusal(Admin({"repair", state_}), "the state is in use: stop nginx first");
  ExpectThreads(1);
}

TEST_F(AdminCommands, RestoreTakesOnlyBackups) {
  MakeState();
  ExpectRefusal(Admin({"restore", state_, "nowhere"}), "is no backup");
  fs::create_directories(directory_ + "/empty");
  ExpectRefusal(Admin({"restore", state_, directory_ + "/empty"}), "is no backup");
  // Another service's state may be in use.
  ExpectRefusal(Admin({"restore", state_, state_}), "is no backup");
  ExpectThreads(1);
}

TEST_F(AdminCommands, RepairLeavesAGoodStateAsItIs) {
  MakeState();
  const Ran ran = Admin({"repair", state_});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(Contains(ran.out, " 1 threads, 0 memories, 0 problems\n")) << ran.out;
}

TEST_F(AdminCommands, OnlyVerifyAndRepairTakeABackup) {
  MakeState();
  ASSERT_EQ(Admin({"backup", state_, "first"}).code, 0);
  const std::string backup = Backup("first");
  const std::string settings = Write("service.json", R"({"agent": "g.json:app"})");
  EXPECT_EQ(Admin({"verify", backup}).code, 0);
  EXPECT_EQ(Admin({"repair", backup}).code, 0);
  ExpectRefusal(Admin({"backup", backup, "x"}), "is a backup, not the state of a service");
  ExpectRefusal(Admin({"restore", backup, "x"}), "is a backup, not the state of a service");
  ExpectRefusal(Admin({"reembed", backup, settings}), "is a backup, not the state of a service");
}

TEST_F(AdminCommands, ReembedReadsTheSettingsFirst) {
  const std::string nowhere = directory_ + "/service.json";
  ExpectRefusal(Admin({"reembed", state_, nowhere}), nowhere + ": cannot be read");
  const std::string broken = Write("broken.json", "{");
  ExpectRefusal(Admin({"reembed", state_, broken}), "broken.json");
  const std::string unknown = Write("unknown.json", R"({"agent": "g.json:app", "nonsense": 1})");
  ExpectRefusal(Admin({"reembed", state_, unknown}), "nonsense");
}

TEST_F(AdminCommands, ReembedNeedsAMemoryStore) {
  MakeState();
  const std::string settings = Write("service.json", R"({"agent": "g.json:app"})");
  ExpectRefusal(Admin({"reembed", state_, settings}),
                "the service keeps no memories in this directory");
}

TEST_F(AdminCommands, ReembedServesTheStateWithTheOptionsOfTheService) {
  MakeState();
  const std::string key = state::keys::Meta(state::kMetadataIndexName);
  state::MetadataIndexRow index;
  index.names = {"topic"};
  {
    const auto database = state::LevelDatabase::OpenDirectory(state_ + "/db");
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    state::Transaction transaction(**database);
    transaction.PutRow(key, index);
    transaction.Accept(true);
    ASSERT_TRUE(transaction.Commit().ok());
  }
  const std::string settings =
      Write("service.json", R"({"agent": "g.json:app", "store": "leveldb", "embedding": "hash",)"
                            R"("threads": {"indexed_metadata": ["topic"]}})");
  EXPECT_EQ(Admin({"reembed", state_, settings}).code, 0);
  const auto database = state::LevelDatabase::OpenReadOnly(state_ + "/db");
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  const auto row = (*database)->Get(key);
  ASSERT_TRUE(row.ok()) << row.status().ToString();
  EXPECT_TRUE(*row) << "else the next server would index every thread again";
}

TEST_F(AdminCommands, ReembedWorksWithAndWithoutAServer) {
  MakeState();
  const std::string settings =
      Write("service.json", R"({"agent": "g.json:app", "store": "leveldb", "embedding": "hash"})");
  const std::string counts = "0 memories, 0 embedded anew, 0 changed meanwhile, 0 refused\n";
  const Ran stopped = Admin({"reembed", state_, settings});
  EXPECT_EQ(stopped.code, 0) << stopped.err;
  EXPECT_EQ(stopped.out, counts);
  StartServer();
  const Ran running = Admin({"reembed", state_, settings});
  EXPECT_EQ(running.code, 0) << running.err;
  EXPECT_EQ(running.out, counts);
}

}  // namespace
}  // namespace agent_graph::admin
