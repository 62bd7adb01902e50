// A view of a thread whose rows are known.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "state/postgres/rows/connection_pool.h"
#include "state/postgres/rows/row_view.h"
#include "state/postgres/rows/thread_cache.h"
#include "state/rows/database.h"

namespace agent_graph::state::postgres {

// Rows that are not cached are read from the database, and are as they are at the time of the call.
class CachedView : public DatabaseView {
 public:
  // `pool` must outlive the view.
  CachedView(CachedThread thread, ConnectionPool& pool) : thread_(std::move(thread)), pool_(pool) {}

  Result<std::optional<std::string>> Get(const std::string& key) const override;
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override;
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override {
    return rest().ScanBackwards(begin, end, row);
  }
  std::unique_ptr<RowCursor> NewCursor(const std::string& begin, std::string end) const override {
    return rest().NewCursor(begin, std::move(end));
  }

 private:
  const RowView& rest() const;

  const CachedThread thread_;
  ConnectionPool& pool_;
  mutable std::unique_ptr<RowView> rest_;
};

}  // namespace agent_graph::state::postgres
