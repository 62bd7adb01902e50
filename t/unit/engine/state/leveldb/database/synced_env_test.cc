// Data that was reported to LevelDB as synced survives a power failure.
#include "state/leveldb/database/synced_env.h"

#include <gtest/gtest.h>
#include <leveldb/db.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace agent_graph::state {
namespace {

// Records which files contain bytes that were never synced.
class RecordingEnv : public leveldb::EnvWrapper {
 public:
  explicit RecordingEnv(leveldb::Env* base) : EnvWrapper(base) {}

  leveldb::Status NewWritableFile(const std::string& path, leveldb::WritableFile** file) override {
    leveldb::Status opened = target()->NewWritableFile(path, file);
    if (opened.ok()) {
      *file = new File(*this, path, std::unique_ptr<leveldb::WritableFile>(*file));
      std::lock_guard lock(mutex_);
      logs_ += IsLog(path);
    }
    return opened;
  }
  leveldb::Status RemoveFile(const std::string& path) override {
    {
      std::lock_guard lock(mutex_);
      unsynced_.erase(path);
    }
    return target()->RemoveFile(path);
  }

  void FailSyncs(bool fail) {
    std::lock_guard lock(mutex_);
    failing_ = fail;
  }
  int logs() {
    std::lock_guard lock(mutex_);
    return logs_;
  }
  // Logs that a power failure would truncate.
  std::vector<std::string> LogsAtRisk() {
    std::lock_guard lock(mutex_);
    std::vector<std::string> logs;
    for (const auto& [path, bytes] : unsynced_) {
      if (bytes > 0 && IsLog(path)) logs.push_back(path);
    }
    return logs;
  }

 private:
  class File : public leveldb::WritableFile {
   public:
    File(RecordingEnv& env, std::string path, std::unique_ptr<leveldb::WritableFile> file)
        : env_(env), path_(std::move(path)), file_(std::move(file)) {}
    leveldb::Status Append(const leveldb::Slice& data) override {
      {
        std::lock_guard lock(env_.mutex_);
        env_.unsynced_[path_] += data.size();
      }
      return file_->Append(data);
    }
    leveldb::Status Close() override { return file_->Close(); }
    leveldb::Status Flush() override { return file_->Flush(); }
    leveldb::Status Sync() override {
      std::lock_guard lock(env_.mutex_);
      if (env_.failing_) return leveldb::Status::IOError("broken disk");
      env_.unsynced_[path_] = 0;
      return file_->Sync();
    }

   private:
    RecordingEnv& env_;
    const std::string path_;
    const std::unique_ptr<leveldb::WritableFile> file_;
  };

  static bool IsLog(const std::string& path) { return path.ends_with(".log"); }

  std::mutex mutex_;
  std::map<std::string, size_t> unsynced_;
  int logs_ = 0;
  bool failing_ = false;
};

class SyncedEnvTest : public testing::Test {
 protected:
  void SetUp() override {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 64 * 1024;
    options.env = &synced_;
    leveldb::DB* db = nullptr;
    ASSERT_TRUE(leveldb::DB::Open(options, "/db", &db).ok());
    db_.reset(db);
  }
  leveldb::Status Put(bool sync) {
    leveldb::WriteOptions options;
    options.sync = sync;
    return db_->Put(options, std::to_string(++rows_), std::string(1000, 'x'));
  }
  // Writes without sync until LevelDB starts another log.
  void FillLog() {
    for (const int logs = recording_.logs(); recording_.logs() == logs;) {
      ASSERT_TRUE(Put(false).ok());
    }
  }

  std::unique_ptr<leveldb::Env> memory_{leveldb::NewMemEnv(leveldb::Env::Default())};
  RecordingEnv recording_{memory_.get()};
  SyncedEnv synced_{&recording_};
  std::unique_ptr<leveldb::DB> db_;
  int rows_ = 0;
};

TEST_F(SyncedEnvTest, ASyncedWriteBringsWhatCameBeforeItToTheDisk) {
  for (int log = 0; log < 10; ++log) {
    FillLog();
    ASSERT_TRUE(Put(true).ok());
    EXPECT_TRUE(recording_.LogsAtRisk().empty());
  }
}

TEST_F(SyncedEnvTest, WhatCouldNotBeSyncedIsNotBuiltOn) {
  recording_.FailSyncs(true);
  const int logs = recording_.logs();
  // A separate log file: a table that cannot be synced would make LevelDB stop writing as well.
  leveldb::WritableFile* log = nullptr;
  ASSERT_TRUE(synced_.NewWritableFile("/db/old.log", &log).ok());
  ASSERT_TRUE(log->Append("answered").ok());
  delete log;
  recording_.FailSyncs(false);
  EXPECT_EQ(recording_.logs(), logs + 1);
  EXPECT_FALSE(Put(true).ok());
}

}  // namespace
}  // namespace agent_graph::state
