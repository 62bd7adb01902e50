// The state that an import writes: a database of PostgreSQL, or the LevelDB of a state directory.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "admin/database_writer.h"
#include "admin/state_access.h"
#include "base/status.h"
#include "state/rows/database.h"

namespace agent_graph::admin {

// Used on one thread; calls block.
class ImportTarget {
 public:
  // `target`: a database (see NamesDatabase), whose hosts may be running, or a state directory.
  // kBusy: its state server is running.
  static Result<ImportTarget> Open(const std::string& target);

  state::Database& database() { return shared_ ? shared_->database() : *database_; }
  // See DatabaseWriter.
  Status CheckAlive() { return shared_ ? shared_->CheckAlive() : Status::Ok(); }

 private:
  ImportTarget() = default;
  Status OpenDirectory(const std::string& path);

  std::unique_ptr<DatabaseWriter> shared_;  // null: LevelDB
  std::optional<StateAccess> directory_;    // directory with the LevelDB; holds its lock
  std::unique_ptr<state::Database> database_;
};

}  // namespace agent_graph::admin
