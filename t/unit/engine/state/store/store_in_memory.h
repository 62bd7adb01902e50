// A store over a LevelDB in memory, without a server and without clients.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "state/leveldb/database/database.h"
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

  StateOptions options_ = {.sync = SyncLevel::kNone};
  std::unique_ptr<LevelDatabase> database_;
  std::unique_ptr<Store> store_;
};

}  // namespace agent_graph::state
