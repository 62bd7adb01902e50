// Tests that synced rows survive a power cut, whichever sectors of later writes reach the disk.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../../requests.h"
#include "../log_file.h"
#include "state/leveldb/database/database.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSectorBytes = 512;
constexpr int kPowerCuts = 25;

class PowerCutTest : public testing::Test {
 protected:
  // Writes rows of all sizes until the log has grown by `bytes`.
  std::vector<std::string> WriteRows(LevelDatabase& database, size_t bytes) {
    std::vector<std::string> keys;
    for (size_t written = 0; written < bytes;) {
      const size_t size = random_() % (random_() % 8 == 0 ? 70'000 : 600);
      const std::unique_ptr<RowBatch> batch = database.NewBatch();
      keys.push_back(std::to_string(next_key_++));
      batch->Put(keys.back(), std::string(size, 'v'));
      EXPECT_TRUE(database.WriteRows(*batch, WriteSync::kLater).ok());
      written += size;
    }
    return keys;
  }
  // The folder as the disk holds it: each sector that was written since the sync may be there.
  void CutPower(const std::string& synced_log, const std::string& live_log) {
    fs::remove_all(cut_);
    fs::copy(synced_, cut_, fs::copy_options::recursive);
    std::string log = live_log;
    const uint32_t lost_of_8 = random_() % 8 + 1;
    for (size_t at = 0; at < log.size(); at += kSectorBytes) {
      if (random_() % 8 >= lost_of_8) continue;
      const size_t size = std::min(kSectorBytes, log.size() - at);
      std::string before = at < synced_log.size() ? synced_log.substr(at, size) : "";
      before.resize(size);
      log.replace(at, size, before);
    }
    std::ofstream(NewestLog(cut_), std::ios::binary) << log;
  }
  void ExpectRows(const std::vector<std::string>& keys) {
    auto database = LevelDatabase::OpenDirectory(cut_);
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    for (const std::string& key : keys) {
      const auto row = (*database)->Get(key);
      ASSERT_TRUE(row.ok() && *row) << key;
    }
  }

  std::mt19937 random_{1};  // NOLINT(cert-msc51-cpp): the same power cuts each time
  int next_key_ = 0;
  const TemporaryDirectory directory_;
  const std::string live_ = directory_.path() + "/live";
  const std::string synced_ = directory_.path() + "/synced";
  const std::string cut_ = directory_.path() + "/cut";
};

TEST_F(PowerCutTest, RowsThatWereSyncedAreThere) {
  auto opened = LevelDatabase::OpenDirectory(live_);
  ASSERT_TRUE(opened.ok());
  LevelDatabase& database = **opened;
  const std::string old_marks = directory_.path() + "/" + SyncedMarks::kName;
  fs::copy_file(live_ + "/" + SyncedMarks::kName, old_marks);
  std::vector<std::string> keys;
  for (int sync = 0; sync < 6; ++sync) {
    const std::vector<std::string> written = WriteRows(database, random_() % 200'000);
    keys.insert(keys.end(), written.begin(), written.end());
    ASSERT_TRUE(database.SyncWritten().ok());
    fs::remove_all(synced_);
    fs::copy(live_, synced_, fs::copy_options::recursive);
    const std::string synced_log = ReadFile(NewestLog(live_));
    const std::vector<std::string> unsynced = WriteRows(database, random_() % 400'000);
    const std::string live_log = ReadFile(NewestLog(live_));
    for (int cut = 0; cut < kPowerCuts; ++cut) {
      CutPower(synced_log, live_log);
      // The marks on the disk may be old.
      if (cut % 2 == 0) {
        fs::copy_file(old_marks, cut_ + "/" + SyncedMarks::kName,
                      fs::copy_options::overwrite_existing);
      }
      ExpectRows(keys);
      if (HasFatalFailure()) return;
    }
    keys.insert(keys.end(), unsynced.begin(), unsynced.end());
  }
}

// A snapshot of a disk has what was synced, and may be opened without a new start of the machine.
TEST_F(PowerCutTest, ASnapshotOnAnotherDiskIsOpened) {
  struct stat here{};
  struct stat there{};
  if (stat(directory_.path().c_str(), &here) != 0 || stat("/dev/shm", &there) != 0 ||
      here.st_dev == there.st_dev) {
    GTEST_SKIP() << "there is no other file system";
  }
  std::string snapshot = "/dev/shm/state-test-XXXXXX";
  ASSERT_NE(mkdtemp(snapshot.data()), nullptr);
  auto opened = LevelDatabase::OpenDirectory(live_);
  ASSERT_TRUE(opened.ok());
  const std::vector<std::string> keys = WriteRows(**opened, 10'000);
  ASSERT_TRUE((*opened)->SyncWritten().ok());
  const size_t synced_bytes = RecordBytes(NewestLog(live_));
  const std::unique_ptr<RowBatch> unsynced = (*opened)->NewBatch();
  unsynced->Put("unsynced", "v");
  ASSERT_TRUE((*opened)->WriteRows(*unsynced, WriteSync::kNone).ok());
  for (const std::string& copy : {snapshot + "/db", cut_}) {
    fs::copy(live_, copy, fs::copy_options::recursive);
    fs::resize_file(NewestLog(copy), synced_bytes);
  }
  // On the same disk the kernel still has all bytes.
  EXPECT_EQ(LevelDatabase::OpenDirectory(cut_).status().code(), StatusCode::kDataLoss);
  fs::remove_all(cut_);
  fs::create_directory_symlink(snapshot + "/db", cut_);
  ExpectRows(keys);
  fs::remove_all(snapshot);
}

}  // namespace
}  // namespace agent_graph::state
