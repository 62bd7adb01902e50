#include "media/file_copies.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "media/local_storage.h"
#include "runtime/runtime.h"

namespace agent_graph::media {
namespace {

namespace fs = std::filesystem;

class FileCopiesTest : public testing::Test {
 protected:
  FileCopiesTest() : runtime_({}) {
    char name[] = "/tmp/media-XXXXXX";
    path_ = mkdtemp(name);
    LocalStorage storage({.directory = path_ + "/from"}, runtime_);
    Spool spool = storage.Receive().value();
    EXPECT_TRUE(spool.Write("the bytes").ok());
    record_.file_id = std::string(32, 'a');
    record_.mime_type = "text/plain";
    EXPECT_TRUE(storage.Keep(spool, record_, "the text").ok());
  }
  ~FileCopiesTest() override { fs::remove_all(path_); }

  Result<CopiedFiles> Copy() { return CopyFiles(path_ + "/from", path_ + "/to", Room::kLeave); }
  fs::path Stored(const std::string& suffix = "") const {
    return path_ + "/from/aa/aa/" + record_.file_id + suffix;
  }

  runtime::Runtime runtime_;  // not started, so its pool runs work at once
  std::string path_;
  FileRecord record_;
};

TEST_F(FileCopiesTest, AStorageReadsThem) {
  const Result<CopiedFiles> copied = Copy();
  ASSERT_TRUE(copied.ok()) << copied.status().ToString();
  EXPECT_EQ(copied->files, 1u);
  EXPECT_EQ(copied->bytes, 9u);
  fs::remove_all(path_ + "/from");
  LocalStorage storage({.directory = path_ + "/to"}, runtime_);
  EXPECT_EQ(ReadFile(storage, runtime_, {}, record_.file_id, 100).value(), "the bytes");
  EXPECT_EQ(storage.ReadText(record_).value(), "the text");
}

TEST_F(FileCopiesTest, WithoutADirectoryThereAreNone) {
  EXPECT_EQ(CopyFiles(path_ + "/nowhere", path_ + "/to", Room::kLeave).value().files, 0u);
  EXPECT_TRUE(fs::is_directory(path_ + "/to"));
}

TEST_F(FileCopiesTest, NothingIsOverwritten) {
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(Copy().status().code(), StatusCode::kConflict);
}

TEST_F(FileCopiesTest, WhatHasNoRecordIsLeftOut) {
  fs::remove(Stored(".json"));
  std::ofstream(path_ + "/from/tmp/half.part") << "x";
  EXPECT_EQ(Copy().value().files, 0u);
}

TEST_F(FileCopiesTest, AFileOfAnotherLengthIsAFault) {
  std::ofstream(Stored(), std::ios::app) << "more";
  EXPECT_EQ(Copy().status().code(), StatusCode::kDataLoss);
}

TEST_F(FileCopiesTest, LinksAreNotFollowed) {
  std::ofstream(path_ + "/secret") << "the bytes";
  fs::remove(Stored());
  fs::create_symlink(path_ + "/secret", Stored());
  EXPECT_EQ(Copy().status().code(), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace agent_graph::media
