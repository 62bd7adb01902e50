// Compactions free the space of deleted rows, also if readers use them meanwhile.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <random>
#include <string>

#include "state/leveldb/database/database.h"

namespace agent_graph::state {
namespace {

namespace fs = std::filesystem;

constexpr int kRows = 64;
constexpr size_t kRowBytes = 64 * 1024;

class CompactionTest : public testing::Test {
 protected:
  CompactionTest() {
    std::string pattern = (fs::temp_directory_path() / "compaction-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~CompactionTest() override { fs::remove_all(folder_); }

  // Stores rows and has them written to tables: many, and a small one that stays.
  void SetUp() override {
    auto opened = LevelDatabase::OpenDirectory(folder_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    database_ = *std::move(opened);
    std::mt19937 random(1);  // so that the rows cannot be compressed
    for (int i = 0; i < kRows; ++i) {
      std::string value(kRowBytes, '\0');
      for (char& byte : value) byte = static_cast<char>(random());
      const std::unique_ptr<RowBatch> batch = database_->NewBatch();
      batch->Put(Key(i), value);
      ASSERT_TRUE(database_->WriteRows(*batch, WriteSync::kNone).ok());
    }
    const std::unique_ptr<RowBatch> batch = database_->NewBatch();
    batch->Put(Key(kRows), "stays");
    ASSERT_TRUE(database_->WriteRows(*batch, WriteSync::kNone).ok());
    Compact();
    ASSERT_GT(TableBytes(), kRows * kRowBytes / 2);
  }

  void DeleteRows() {
    const std::unique_ptr<RowBatch> batch = database_->NewBatch();
    for (int i = 0; i < kRows; ++i) batch->Delete(Key(i));
    ASSERT_TRUE(database_->WriteRows(*batch, WriteSync::kNone).ok());
  }
  void Compact() { database_->Compact(Key(0), Key(kRows)); }
  static std::string Key(int number) { return "row" + std::to_string(1000 + number); }
  uint64_t TableBytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().extension() == ".ldb") bytes += entry.file_size();
    }
    return bytes;
  }

  std::string folder_;
  std::unique_ptr<LevelDatabase> database_;
};

TEST_F(CompactionTest, FreesTheSpaceOfDeletedRows) {
  DeleteRows();
  Compact();
  EXPECT_LT(TableBytes(), kRowBytes);
}

TEST_F(CompactionTest, TheNextOneFreesWhatAReaderHeld) {
  DeleteRows();
  const Status scanned = database_->Scan("", "", [&](auto, auto) {
    Compact();
    EXPECT_GT(TableBytes(), kRows * kRowBytes / 2);
    return false;
  });
  ASSERT_TRUE(scanned.ok());
  Compact();
  EXPECT_LT(TableBytes(), kRowBytes);
}

TEST_F(CompactionTest, WaitsForViewsThatShowTheDeletedRows) {
  std::unique_ptr<DatabaseView> view = database_->TakeView();
  DeleteRows();
  std::future<void> compaction = std::async(std::launch::async, [&] { Compact(); });
  // Without a wait it would take about 20 ms.
  EXPECT_EQ(compaction.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  view.reset();
  compaction.get();
  EXPECT_LT(TableBytes(), kRowBytes);
}

}  // namespace
}  // namespace agent_graph::state
