// Views of the database over connections of a pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/postgres/rows/connection_pool.h"
#include "state/postgres/rows/row_reads.h"
#include "state/rows/database.h"

namespace agent_graph::state::postgres {

// A view of one moment: that of its first read. Holds a connection of the pool. After a failure all
// reads fail, because the moment has ended with the transaction.
class RowView : public DatabaseView {
 public:
  explicit RowView(ConnectionPool& pool);
  ~RowView() override;
  RowView(const RowView&) = delete;
  RowView& operator=(const RowView&) = delete;

  Result<std::optional<std::string>> Get(const std::string& key) const override {
    return reads_.Get(key);
  }
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override {
    return reads_.Scan(begin, end, row);
  }
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return reads_.ScanBackwards(begin, end, row);
  }
  Result<std::vector<std::optional<std::string>>> GetAll(
      const std::vector<std::string>& keys) const override {
    return reads_.GetAll(keys);
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const override {
    return NewRowCursor(reads_, begin, std::move(end));
  }

 private:
  Result<std::vector<Rows>> Send(const std::vector<Command>& commands) const;

  ConnectionPool& pool_;
  Connection* connection_ = nullptr;
  mutable Status status_;
  SqlRowReads reads_;
};

}  // namespace agent_graph::state::postgres
