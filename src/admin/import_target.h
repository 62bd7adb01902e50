// The state that an import writes: a database of PostgreSQL, or the LevelDB of a state directory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "admin/state_access.h"
#include "base/status.h"
#include "state/postgres/cluster/membership.h"
#include "state/rows/database.h"

namespace agent_graph::admin {

// Used on one thread; calls block.
class ImportTarget {
 public:
  // `target`: a database (see NamesDatabase), whose hosts may be running, or a state directory.
  // kBusy: its state server is running.
  static Result<ImportTarget> Open(const std::string& target);
  ImportTarget(ImportTarget&&) = default;
  ~ImportTarget();

  state::Database& database() { return *database_; }
  // Call at least once a second: hosts that share the database take a silent writer for dead.
  Status KeepAlive();

 private:
  ImportTarget() = default;
  Status OpenDatabase(const std::string& target);
  Status OpenDirectory(const std::string& path);

  std::optional<StateAccess> directory_;                     // of LevelDB; holds its lock
  std::unique_ptr<state::postgres::Membership> membership_;  // null: LevelDB
  std::unique_ptr<state::Database> database_;
};

}  // namespace agent_graph::admin
