// A LevelDB in memory behind the interface of databases, of which a test overrides some functions.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "state/leveldb/database/database.h"

namespace agent_graph::state {

class WrappedDatabase : public Database {
 public:
  WrappedDatabase() : rows_(*LevelDatabase::OpenMemory()) {}

  Result<std::optional<std::string>> Get(const std::string& key) const override {
    return rows_->Get(key);
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    return rows_->Scan(begin, end, row);
  }
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return rows_->ScanBackwards(begin, end, row);
  }
  std::unique_ptr<DatabaseView> TakeView() const override { return rows_->TakeView(); }
  std::unique_ptr<RowBatch> NewBatch() const override { return rows_->NewBatch(); }
  Status WriteRows(RowBatch& batch, WriteSync sync) override {
    return rows_->WriteRows(batch, sync);
  }
  void Compact(const std::string& first, const std::string& last) override {
    rows_->Compact(first, last);
  }
  Result<BackupReport> BackUp(const std::string& directory,
                              const std::atomic<bool>* stopping) const override {
    return rows_->BackUp(directory, stopping);
  }

 private:
  const std::unique_ptr<LevelDatabase> rows_;
};

}  // namespace agent_graph::state
