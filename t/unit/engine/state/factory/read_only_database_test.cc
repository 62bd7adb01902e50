// Databases that are only read: no file of theirs changes.
#include <gtest/gtest.h>
#include <leveldb/write_batch.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "../fixture.h"
#include "state/leveldb/database/database.h"
#include "state/leveldb/files/synced_marks.h"

namespace agent_graph::state {
namespace {

class ReadOnlyDatabase : public testing::Test {
 protected:
  std::string folder() const { return directory_.path() + "/db"; }

  // Adds rows to the database, which is closed afterwards. The last ones are in a log.
  void AddRows(const std::string& prefix, int count) {
    auto database = LevelDatabase::OpenDirectory(folder());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    for (int number = 0; number < count; ++number) {
      leveldb::WriteBatch batch;
      batch.Put(prefix + std::to_string(number), std::string(100, 'v'));
      ASSERT_TRUE((*database)->Write(batch, number + 1 == count).ok());
    }
  }

  std::map<std::string, std::string> Files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      std::ifstream in(entry.path(), std::ios::binary);
      files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
  }

  static int CountRows(const Database& database) {
    int count = 0;
    const Status scanned = database.Scan("", "", [&](std::string_view, std::string_view) {
      ++count;
      return true;
    });
    EXPECT_TRUE(scanned.ok()) << scanned.ToString();
    return count;
  }

  TemporaryDirectory directory_;
};

TEST_F(ReadOnlyDatabase, RowsOfTablesAndOfTheLogAreRead) {
  AddRows("a", 100);
  AddRows("b", 50);  // moves the earlier rows into a table
  const auto before = Files();
  {
    const auto database = LevelDatabase::OpenReadOnly(folder());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    EXPECT_EQ(CountRows(**database), 150);
    EXPECT_EQ((*database)->Get("b49").value(), std::string(100, 'v'));
    EXPECT_EQ((*database)->Get("c").value(), std::nullopt);
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(ReadOnlyDatabase, ManyTablesAreReadAndNotMerged) {
  for (int round = 0; round < 12; ++round) AddRows("row" + std::to_string(round) + "-", 20);
  const auto before = Files();
  {
    const auto database = LevelDatabase::OpenReadOnly(folder());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    EXPECT_EQ(CountRows(**database), 240);
    EXPECT_EQ(CountRows(**database), 240);
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(ReadOnlyDatabase, WritesAreRefused) {
  AddRows("a", 1);
  const auto before = Files();
  {
    const auto database = LevelDatabase::OpenReadOnly(folder());
    ASSERT_TRUE(database.ok()) << database.status().ToString();
    leveldb::WriteBatch batch;
    batch.Put("b", "v");
    EXPECT_EQ((*database)->Write(batch, true).code(), StatusCode::kUnavailable);
    EXPECT_EQ(CountRows(**database), 1);
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(ReadOnlyDatabase, SeveralReadersButNoWriterBesideThem) {
  AddRows("a", 1);
  const auto first = LevelDatabase::OpenReadOnly(folder());
  const auto second = LevelDatabase::OpenReadOnly(folder());
  ASSERT_TRUE(first.ok() && second.ok()) << second.status().ToString();
  EXPECT_EQ(LevelDatabase::OpenDirectory(folder()).status().code(), StatusCode::kBusy);
}

TEST_F(ReadOnlyDatabase, NoReaderBesideAWriter) {
  const auto writer = LevelDatabase::OpenDirectory(folder());
  ASSERT_TRUE(writer.ok()) << writer.status().ToString();
  EXPECT_EQ(LevelDatabase::OpenReadOnly(folder()).status().code(), StatusCode::kBusy);
}

TEST_F(ReadOnlyDatabase, MarksMayBeMissing) {
  AddRows("a", 1);
  std::filesystem::remove(folder() + "/" + SyncedMarks::kName);
  const auto before = Files();
  const auto database = LevelDatabase::OpenReadOnly(folder());
  ASSERT_TRUE(database.ok()) << database.status().ToString();
  EXPECT_EQ(CountRows(**database), 1);
  EXPECT_EQ(Files(), before);
}

TEST_F(ReadOnlyDatabase, AFolderWithoutADatabase) {
  std::filesystem::create_directories(folder());
  EXPECT_EQ(LevelDatabase::OpenReadOnly(folder()).status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

}  // namespace
}  // namespace agent_graph::state
