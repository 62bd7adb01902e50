// This program as a writer of a database that hosts share.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/rows/row_database.h"

namespace agent_graph::admin {

// An instance beside those of hosts, which may be running. Used on one thread; calls block.
class DatabaseWriter {
 public:
  // `purpose`: its name in the table `instance`.
  static Result<std::unique_ptr<DatabaseWriter>> Open(const std::string& url,
                                                      const std::string& purpose);
  ~DatabaseWriter();
  DatabaseWriter(const DatabaseWriter&) = delete;
  DatabaseWriter& operator=(const DatabaseWriter&) = delete;

  state::postgres::RowDatabase& database() { return *database_; }
  // Call at least once a second: hosts take a silent writer for dead, and kFenced is returned.
  Status KeepAlive();

 private:
  DatabaseWriter() = default;

  std::unique_ptr<state::postgres::Membership> membership_;
  std::unique_ptr<state::postgres::RowDatabase> database_;
};

}  // namespace agent_graph::admin
