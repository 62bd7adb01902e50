// A store over a LevelDB in memory, without a server and without clients.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "state/leveldb/database/database.h"
#include "state/rows/keys.h"
#include "state/store/store.h"

namespace agent_graph::state {

class StoreInMemory : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<LevelDatabase>> database = LevelDatabase::OpenMemory();
    ASSERT_TRUE(database.ok());
    database_ = *std::move(database);
    Load();
  }
  // Opens the store like a state server that takes over.
  void Load() {
    store_ = std::make_unique<Store>(*database_, options_);
    ASSERT_TRUE(store_->Load().ok());
  }
  std::vector<StoreReply> Commit() {
    Result<std::vector<StoreReply>> replies = store_->Commit();
    EXPECT_TRUE(replies.ok());
    return replies.ok() ? *std::move(replies) : std::vector<StoreReply>();
  }
  int RowsOf(keys::Table table) {
    int rows = 0;
    const std::string prefix = keys::TablePrefix(table);
    EXPECT_TRUE(database_
                    ->Scan(prefix, keys::PrefixEnd(prefix),
                           [&](std::string_view, std::string_view) { return ++rows > 0; })
                    .ok());
    return rows;
  }

  StateOptions options_ = {.sync = SyncLevel::kNone};
  std::unique_ptr<LevelDatabase> database_;
  std::unique_ptr<Store> store_;
};

}  // namespace agent_graph::state
