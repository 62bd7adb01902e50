// A repair does not change an intact database, however LevelDB has stored it.
#include <gmock/gmock.h>
#include <leveldb/db.h>
#include <leveldb/options.h>

#include <filesystem>
#include <map>
#include <memory>

#include "maintenance_fixture.h"

namespace agent_graph::state {
namespace {

using testing::IsEmpty;

using Rows = std::map<std::string, std::string>;

class RepairOfAWholeDatabase : public MaintenanceTest {
 protected:
  // These keys sort before and after all of our rows.
  const std::string first_ = std::string(1, '\0');
  const std::string last_ = "\xff";

  // Replaces the database with an empty one.
  std::unique_ptr<leveldb::DB> MakeAnew() {
    std::filesystem::remove_all(database_path());
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB* database = nullptr;
    EXPECT_TRUE(leveldb::DB::Open(options, database_path(), &database).ok());
    return std::unique_ptr<leveldb::DB>(database);
  }
  // Moves recent writes into a separate table, and merges the tables that contain the key.
  static void MakeTable(leveldb::DB& database, const std::string& key) {
    const leveldb::Slice slice(key);
    database.CompactRange(&slice, &slice);
  }
  Rows Scanned() {
    Rows rows;
    Open([&](LevelDatabase& database) {
      EXPECT_TRUE(database
                      .Scan({}, {},
                            [&](std::string_view key, std::string_view value) {
                              return rows.emplace(key, value).second;
                            })
                      .ok());
    });
    return rows;
  }
  Rows Gotten(const Rows& keys) {
    Rows rows;
    Open([&](LevelDatabase& database) {
      for (const auto& [key, value] : keys) {
        const auto row = database.Get(key);
        if (row.ok() && *row) rows.emplace(key, **row);
      }
    });
    return rows;
  }
};

// A repair puts all tables at level 0, where LevelDB trusts the table with the highest file number.
TEST_F(RepairOfAWholeDatabase, KeepsTheNewestRows) {
  Serve([](Client& client) { RunTurn(client, "t", "alice", {UserMessage("m1")}); });
  const Rows older = Scanned();
  Serve([](Client& client) { RunTurn(client, "t", "alice", {UserMessage("m2")}); });
  const Rows newer = Scanned();
  {
    const std::unique_ptr<leveldb::DB> database = MakeAnew();
    for (const auto& [key, value] : older) ASSERT_TRUE(database->Put({}, key, value).ok());
    ASSERT_TRUE(database->Put({}, last_, "older").ok());
    MakeTable(*database, last_ + last_);
    ASSERT_TRUE(database->Put({}, first_, "older").ok());
    MakeTable(*database, last_ + last_);
    // Its key sorts after both, so that LevelDB does not merge it with only one of them.
    for (const auto& [key, value] : older) ASSERT_TRUE(database->Delete({}, key).ok());
    for (const auto& [key, value] : newer) ASSERT_TRUE(database->Put({}, key, value).ok());
    ASSERT_TRUE(database->Put({}, first_, "newer").ok());
    MakeTable(*database, last_ + last_);
    // The table with the older rows is rewritten because of its last row.
    ASSERT_TRUE(database->Put({}, last_, "newer").ok());
    MakeTable(*database, last_);
    std::string above;
    ASSERT_TRUE(database->GetProperty("leveldb.num-files-at-level1", &above));
    ASSERT_EQ(above, "1");
  }
  ASSERT_THAT(Problems(), IsEmpty());
  Rows whole = newer;
  whole[first_] = whole[last_] = "newer";
  ASSERT_EQ(Scanned(), whole);
  ASSERT_TRUE(Repair(database_path()).ok());
  EXPECT_EQ(Scanned(), whole);
  Rows keys = whole;
  keys.insert(older.begin(), older.end());
  EXPECT_EQ(Gotten(keys), whole);
  EXPECT_THAT(Problems(), IsEmpty());
}

}  // namespace
}  // namespace agent_graph::state
