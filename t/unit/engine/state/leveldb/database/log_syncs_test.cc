// Logs are synced while another thread writes: marks lie only at ends of records, and a failed sync
// ends the writes.
#include <gtest/gtest.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "../log_file.h"
#include "state/leveldb/database/database.h"
#include "state/leveldb/disk/disk_env.h"
#include "state/leveldb/disk/folder_watch.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {
namespace {

namespace fs = std::filesystem;

class LogSyncsTest : public testing::Test {
 protected:
  LogSyncsTest() {
    std::string pattern = (fs::temp_directory_path() / "log-syncs-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LogSyncsTest() override { fs::remove_all(folder_); }

  std::unique_ptr<LevelDatabase> Open() {
    auto database = LevelDatabase::OpenDirectory(folder_);
    EXPECT_TRUE(database.ok()) << database.status().ToString();
    return database.ok() ? *std::move(database) : nullptr;
  }
  static Status Put(LevelDatabase& database, const std::string& key, WriteSync sync) {
    const std::unique_ptr<RowBatch> batch = database.NewBatch();
    batch->Put(key, "value");
    return database.WriteRows(*batch, sync);
  }
  std::string LogPath() const { return NewestLog(folder_); }

  std::string folder_;
};

TEST_F(LogSyncsTest, AMarkDoesNotLieInsideARecordThatIsBeingWritten) {
  auto opened = SyncedMarks::Open(folder_);
  ASSERT_TRUE(opened.ok());
  const std::shared_ptr<SyncedMarks> marks = *std::move(opened);
  marks->Begin();
  DiskEnv env(nullptr, std::make_shared<FolderWatch>(folder_), marks,
              std::make_shared<ReadGate>(nullptr));
  leveldb::WritableFile* file = nullptr;
  ASSERT_TRUE(env.NewWritableFile(folder_ + "/000005.log", &file).ok());
  const std::unique_ptr<leveldb::WritableFile> log(file);
  ASSERT_TRUE(log->Append("record").ok());
  ASSERT_TRUE(log->Flush().ok());
  env.NoteWritten();
  ASSERT_TRUE(log->Append("first fragment").ok());
  ASSERT_TRUE(log->Flush().ok());
  ASSERT_TRUE(env.SyncLogs().ok());
  marks->Publish();
  const std::string copy = folder_ + "/copy";
  fs::create_directory(copy);
  fs::copy_file(folder_ + "/SYNCED", copy + "/SYNCED");
  auto found = SyncedMarks::OpenReadOnly(copy);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ((*found)->found().logs.at(5), std::string("record").size());
}

TEST_F(LogSyncsTest, WhatIsSyncedLaterIsMarkedThen) {
  std::unique_ptr<LevelDatabase> database = Open();
  ASSERT_NE(database, nullptr);
  ASSERT_TRUE(database->syncs_later());
  ASSERT_TRUE(Put(*database, "a", WriteSync::kLater).ok());
  ASSERT_TRUE(Put(*database, "b", WriteSync::kLater).ok());
  ASSERT_TRUE(database->SyncWritten().ok());
  // As after a power cut or kill -9: no file is closed in order.
  const std::string copy = folder_ + "/copy";
  fs::create_directory(copy);
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.is_regular_file()) fs::copy_file(entry.path(), copy / entry.path().filename());
  }
  const std::string log = copy + LogPath().substr(folder_.size());
  fs::resize_file(log, RecordBytes(log) - 1);
  EXPECT_EQ(LevelDatabase::OpenDirectory(copy).status().code(), StatusCode::kDataLoss);
}

TEST_F(LogSyncsTest, AcknowledgesNothingOfALogThatIsGone) {
  const std::unique_ptr<LevelDatabase> database = Open();
  ASSERT_NE(database, nullptr);
  fs::remove(LogPath());
  ASSERT_TRUE(Put(*database, "a", WriteSync::kLater).ok());
  EXPECT_EQ(database->SyncWritten().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace agent_graph::state
