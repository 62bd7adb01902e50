#include "media/local_storage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/ids.h"
#include "kept_file.h"
#include "media/file_lock.h"
#include "media/usage.h"
#include "runtime/runtime.h"

namespace agent_graph::media {
namespace {

namespace fs = std::filesystem;

class LocalStorageTest : public testing::Test {
 protected:
  LocalStorageTest() : runtime_({}) {
    char name[] = "/tmp/media-XXXXXX";
    path_ = mkdtemp(name);
    options_.directory = path_ + "/uploads";
  }
  ~LocalStorageTest() override { fs::remove_all(path_); }

  size_t Files() {
    size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(options_.directory)) {
      if (entry.is_regular_file() && entry.path().filename().native().size() >= 32) ++count;
    }
    return count;
  }

  std::string path_;
  LocalStorageOptions options_;
  runtime::Runtime runtime_;  // not started, so its pool runs work at once
};

TEST_F(LocalStorageTest, KeepsBytesRecordAndText) {
  FileRecord kept;
  {
    LocalStorage storage(options_, runtime_);
    kept = KeepFile(storage, "hello", "alice", "the text").value();
  }
  EXPECT_EQ(kept.sha256, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  LocalStorage storage(options_, runtime_);
  FileRecord found = storage.Find({"alice", true}, kept.file_id).value();
  EXPECT_EQ(ToText(found), ToText(kept));
  EXPECT_EQ(storage.ReadText(found).value(), "the text");
  Content content = storage.Open(found, 0, 5).value();
  char bytes[8];
  EXPECT_EQ(read(content.file.get(), bytes, sizeof bytes), 5);
  EXPECT_EQ(Files(), 3u) << "nothing else is left";
  struct stat info{};
  ASSERT_EQ(stat(options_.directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(LocalStorageTest, OpensNoFileThatIsShorterThanItsRecord) {
  LocalStorage storage(options_, runtime_);
  const FileRecord kept = KeepFile(storage, "hello").value();
  for (const auto& entry : fs::recursive_directory_iterator(options_.directory)) {
    if (entry.path().filename() == kept.file_id) fs::resize_file(entry.path(), 4);
  }
  EXPECT_EQ(storage.Open(kept, 0, 1).status().code(), StatusCode::kDataLoss);
}

TEST_F(LocalStorageTest, HidesFilesOfOthers) {
  LocalStorage storage(options_, runtime_);
  const FileRecord mine = KeepFile(storage, "x", "alice").value();
  const FileRecord nobodys = KeepFile(storage, "x").value();
  const Status unknown = storage.Find({"bob", true}, std::string(32, '0')).status();
  EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
  EXPECT_EQ(storage.Find({"bob", true}, mine.file_id).status(), unknown);
  EXPECT_EQ(storage.Find({"", true}, mine.file_id).status(), unknown);
  EXPECT_TRUE(storage.Find({"bob", true}, nobodys.file_id).ok());
  EXPECT_EQ(storage.Find({"bob", false}, nobodys.file_id).status(), unknown);
  EXPECT_EQ(storage.Find({"", false}, nobodys.file_id).status(), unknown);
}

TEST_F(LocalStorageTest, TakesNothingButIdsForNames) {
  LocalStorage storage(options_, runtime_);
  ASSERT_TRUE(KeepFile(storage, "x").ok());
  for (const std::string& name : std::vector<std::string>{
           "", "..", "../../etc/passwd", std::string(32, 'A'), std::string(33, 'a'),
           std::string(31, 'a') + "/", std::string(31, 'a') + '\0'}) {
    EXPECT_EQ(storage.Find({}, name).status().code(), StatusCode::kNotFound) << name;
  }
}

TEST_F(LocalStorageTest, WhatIsNotKeptDisappears) {
  LocalStorage storage(options_, runtime_);
  {
    Spool spool = storage.Receive().value();
    ASSERT_TRUE(spool.Write("half of it").ok());
    EXPECT_EQ(Files(), 1u);
  }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(LocalStorageTest, RemovesWhatAKilledProcessLeft) {
  fs::create_directories(options_.directory + "/tmp");
  const std::string old = options_.directory + "/tmp/" + NewHexId() + ".part";
  const std::string fresh = options_.directory + "/tmp/" + NewHexId() + ".part";
  std::ofstream(old) << "x";
  std::ofstream(fresh) << "x";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  LocalStorage storage(options_, runtime_);
  ASSERT_TRUE(KeepFile(storage, "x").ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh)) << "another worker may be receiving it";
}

TEST_F(LocalStorageTest, StoresNothingInADirectoryThatWasMovedOrReplaced) {
  LocalStorage storage(options_, runtime_);
  const FileRecord kept = KeepFile(storage, "x").value();
  const std::string aside = path_ + "/aside";
  fs::rename(options_.directory, aside);
  const Status moved = KeepFile(storage, "y").status();
  EXPECT_EQ(moved.code(), StatusCode::kUnavailable);
  EXPECT_NE(moved.ToString().find("deleted, moved or replaced"), std::string::npos);
  fs::create_directory(options_.directory);
  EXPECT_EQ(KeepFile(storage, "y").status(), moved);
  EXPECT_EQ(storage.Find({}, kept.file_id).status(), moved) << "it is not known that it is gone";
  fs::remove(options_.directory);
  fs::rename(aside, options_.directory);
  EXPECT_TRUE(storage.Find({}, kept.file_id).ok());
  EXPECT_TRUE(KeepFile(storage, "y").ok());
}

TEST_F(LocalStorageTest, LosesTheDirectoryDuringAnUpload) {
  LocalStorage storage(options_, runtime_);
  Spool spool = storage.Receive().value();
  ASSERT_TRUE(spool.Write("x").ok());
  fs::rename(options_.directory, path_ + "/aside");
  FileRecord record;
  record.file_id = NewHexId();
  EXPECT_EQ(storage.Keep(spool, record, std::nullopt).code(), StatusCode::kUnavailable);
}

TEST_F(LocalStorageTest, MakesTheFolderOfUploadsInProgressAgain) {
  LocalStorage storage(options_, runtime_);
  ASSERT_TRUE(KeepFile(storage, "x").ok());
  fs::remove_all(options_.directory + "/tmp");
  EXPECT_TRUE(KeepFile(storage, "y").ok());
}

TEST_F(LocalStorageTest, BoundsAllFilesTogether) {
  options_.total_bytes_max = 20'000;
  LocalStorage storage(options_, runtime_);
  EXPECT_TRUE(
      KeepFile(storage, "123456").ok());  // uses two blocks of 4096 bytes, including its record
  Status full = KeepFile(storage, std::string(5000, 'x')).status();
  EXPECT_EQ(full.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(), "the file storage is full");
  EXPECT_TRUE(KeepFile(storage, "1234").ok());
  EXPECT_EQ(Files(), 4u);
}

TEST_F(LocalStorageTest, BoundsTextsToo) {
  options_.total_bytes_max = 20'000;
  LocalStorage storage(options_, runtime_);
  EXPECT_FALSE(KeepFile(storage, "x", "", std::string(12'000, 'x')).ok());
  EXPECT_TRUE(KeepFile(storage, "x", "", std::string(8'000, 'x')).ok());
}

TEST_F(LocalStorageTest, BoundsWhatIsBeingReceived) {
  options_.total_bytes_max = 20'000;
  LocalStorage storage(options_, runtime_);
  const std::string half(10'000, 'x');
  {
    Spool first = storage.Receive().value();
    EXPECT_TRUE(first.Write(half).ok());
    Spool second = storage.Receive().value();
    EXPECT_EQ(second.Write(half).code(), StatusCode::kResourceExhausted);
  }
  Spool third = storage.Receive().value();
  EXPECT_TRUE(third.Write(half).ok());
}

TEST_F(LocalStorageTest, CountsOnceForAllThatIsReceived) {
  FileRecord kept;
  {
    LocalStorage storage(options_, runtime_);
    kept = KeepFile(storage, std::string(30'000, 'x')).value();
  }
  const std::string path = options_.directory + "/" + kept.file_id.substr(0, 2) + "/" +
                           kept.file_id.substr(2, 2) + "/" + kept.file_id;
  options_.total_bytes_max = 60'000;
  LocalStorage storage(options_, runtime_);
  {
    Spool spool = storage.Receive().value();
    ASSERT_TRUE(spool.Write("x").ok());
  }
  // The file is removed behind the storage's back. The storage counts only once, so it does not
  // notice that.
  ASSERT_TRUE(fs::remove(path));
  Spool spool = storage.Receive().value();
  EXPECT_EQ(spool.Write(std::string(30'000, 'x')).code(), StatusCode::kResourceExhausted);
}

// Uploads must not occupy the io pool while another process counts many files.
TEST_F(LocalStorageTest, UploadsFailWhileAnotherProcessHoldsTheCounter) {
  options_.total_bytes_max = 20'000;
  LocalStorage storage(options_, runtime_);
  ASSERT_TRUE(KeepFile(storage, "x").ok());
  Spool spool = storage.Receive().value();
  ASSERT_TRUE(spool.Write("y").ok());
  FileRecord record;
  record.file_id = NewHexId();
  const FileDescriptor root(open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const FileDescriptor held = LockFile(root.get(), "usage").value();
    EXPECT_EQ(KeepFile(storage, "z").status().code(), StatusCode::kUnavailable);
    ASSERT_EQ(pwrite(held.get(), "counting", 8, 0), 8);
    EXPECT_EQ(KeepFile(storage, "z").status().code(), StatusCode::kUnavailable);
    EXPECT_EQ(storage.Keep(spool, record, std::nullopt).code(), StatusCode::kUnavailable);
  }
  // The process has died, so its count is repeated.
  EXPECT_EQ(KeepFile(storage, std::string(9'000, 'z')).status().code(),
            StatusCode::kResourceExhausted);
  EXPECT_TRUE(KeepFile(storage, "z").ok());
}

TEST_F(LocalStorageTest, AsksForRoomInSteps) {
  ASSERT_TRUE(fs::create_directory(options_.directory));
  const FileDescriptor folder(open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  uint64_t room = 2 * Spool::kAdmittedAtOnce;
  uint64_t written = 0;
  std::vector<uint64_t> asked;
  Spool spool = Spool::Create(folder.get(), [&](uint64_t bytes) {
                  asked.push_back(bytes);
                  return written + bytes <= room ? Status::Ok()
                                                 : Status(StatusCode::kResourceExhausted, "full");
                }).value();
  const std::string piece(Spool::kAdmittedAtOnce / 4, 'x');
  for (; written < Spool::kAdmittedAtOnce; written += piece.size()) {
    ASSERT_TRUE(spool.Write(piece).ok());
  }
  EXPECT_EQ(asked, (std::vector<uint64_t>{Spool::kAdmittedAtOnce}));
  // The last free bytes may be used, too.
  room = written + piece.size();
  ASSERT_TRUE(spool.Write(piece).ok());
  written += piece.size();
  EXPECT_EQ(asked.back(), piece.size());
  EXPECT_EQ(spool.Write("x").code(), StatusCode::kResourceExhausted);
}

TEST_F(LocalStorageTest, CountsWhatWasThereBeforeTheBound) {
  {
    LocalStorage storage(options_, runtime_);
    EXPECT_TRUE(KeepFile(storage, "123456").ok());
  }
  options_.total_bytes_max = 20'000;
  LocalStorage storage(options_, runtime_);
  EXPECT_FALSE(KeepFile(storage, std::string(5000, 'x')).ok());
  EXPECT_TRUE(KeepFile(storage, "1234").ok());
}

// A count that failed must not become the counter's value.
TEST_F(LocalStorageTest, CountsAgainAfterACountThatFailed) {
  {
    LocalStorage storage(options_, runtime_);
    EXPECT_TRUE(KeepFile(storage, std::string(9'000, 'x')).ok());
  }
  const FileDescriptor root(open(options_.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = dup(root.get());
  close(next);
  // Enough for the counter and the folder, but not for the folders in it.
  const rlimit few{static_cast<rlim_t>(next) + 2, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status failed = Reserve(root.get(), 1, 20'000);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failed.code(), StatusCode::kUnavailable) << failed.ToString();
  EXPECT_EQ(Reserve(root.get(), 9'000, 20'000).code(), StatusCode::kResourceExhausted);
  EXPECT_TRUE(Reserve(root.get(), 1, 20'000).ok());
}

TEST_F(LocalStorageTest, FilesOfAnInstanceEndWithIt) {
  options_.must_be_ours = true;
  options_.instance = "1 1";  // a process that is not running
  FileRecord record;
  {
    LocalStorage storage(options_, runtime_);
    record = KeepFile(storage, "x").value();
  }
  {
    LocalStorage same(options_, runtime_);
    EXPECT_TRUE(same.Find({}, record.file_id).ok());
  }
  options_.instance = InstanceOf(getpid());
  ASSERT_NE(options_.instance, "");
  {
    LocalStorage next(options_, runtime_);
    EXPECT_EQ(next.Find({}, record.file_id).status().code(), StatusCode::kNotFound);
    record = KeepFile(next, "x").value();
  }
  options_.instance = InstanceOf(getppid());
  LocalStorage upgraded(options_, runtime_);
  EXPECT_TRUE(upgraded.Find({}, record.file_id).ok()) << "the instance before still runs";
}

TEST_F(LocalStorageTest, AnInstanceIsRemovedByItselfOnly) {
  options_.instance = InstanceOf(getpid());
  LocalStorage storage(options_, runtime_);
  ASSERT_TRUE(KeepFile(storage, "x").ok());
  RemoveInstance(options_.directory, geteuid(), InstanceOf(getppid()));
  RemoveInstance(options_.directory, geteuid() + 1, options_.instance);
  EXPECT_TRUE(fs::exists(options_.directory));
  RemoveInstance(options_.directory, geteuid(), options_.instance);
  EXPECT_FALSE(fs::exists(options_.directory));
}

TEST_F(LocalStorageTest, RefusesADirectoryThatOthersMayWriteTo) {
  options_.must_be_ours = true;
  fs::create_directory(options_.directory);
  chmod(options_.directory.c_str(), 0777);
  LocalStorage storage(options_, runtime_);
  EXPECT_EQ(storage.Receive().status().code(), StatusCode::kUnavailable);
  fs::remove(options_.directory);
  fs::create_directory(path_ + "/elsewhere");
  fs::create_symlink(path_ + "/elsewhere", options_.directory);
  EXPECT_EQ(storage.Receive().status().code(), StatusCode::kUnavailable);
}

TEST_F(LocalStorageTest, ComesBackWhenItsDirectoryDoes) {
  options_.directory = path_ + "/file/uploads";
  std::ofstream(path_ + "/file") << "in the way";
  LocalStorage storage(options_, runtime_);
  EXPECT_EQ(KeepFile(storage, "x").status().code(), StatusCode::kUnavailable);
  fs::remove(path_ + "/file");
  EXPECT_TRUE(KeepFile(storage, "x").ok());
}

TEST(CleanFileName, KeepsTheLastComponent) {
  EXPECT_EQ(CleanFileName("a/b\\c.txt"), "c.txt");
  EXPECT_EQ(CleanFileName(" a\r\nb\t.txt "), "ab.txt");
  EXPECT_EQ(CleanFileName(".."), "");
  EXPECT_EQ(CleanFileName("a/"), "");
  EXPECT_EQ(CleanFileName("\x01"), "");
  const std::string name = CleanFileName(std::string(254, 'x') + "\xc3\xa9");
  EXPECT_EQ(name, std::string(254, 'x'));
}

}  // namespace
}  // namespace agent_graph::media
