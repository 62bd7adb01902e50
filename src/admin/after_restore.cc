#include "admin/after_restore.h"

#include <utility>
#include <vector>

#include "admin/database.h"
#include "admin/database_writer.h"
#include "admin/unused_database.h"
#include "state/options.h"
#include "state/postgres/schema/migration.h"
#include "state/store/store.h"

namespace agent_graph::admin {
namespace {

using state::postgres::Connection;
using state::postgres::Rows;

Result<std::string> RenewHistory(Connection& connection) {
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.ExecuteAll(
          {{"UPDATE agent_graph.cluster SET history = gen_random_uuid(), epoch = epoch + 1, "
            "cursor_mark = 1 + (random() * 9e18)::bigint RETURNING history"},
           {"UPDATE agent_graph.instance SET dead = true, ended = now() WHERE NOT dead"},
           {"DELETE FROM agent_graph.notice"},
           {"UPDATE agent_graph.job SET instance = NULL, due = now()"}}));
  return rows[0][0].Uuid(0);
}

// Instances that have leases or waiting runs.
Result<std::vector<std::string>> InstancesWithRuns(Connection& connection) {
  AG_ASSIGN_OR_RETURN(
      const Rows rows,
      connection.Execute({"SELECT instance FROM agent_graph.lease WHERE instance IS NOT NULL UNION "
                          "SELECT instance FROM agent_graph.run_request WHERE instance IS NOT "
                          "NULL"}));
  std::vector<std::string> instances;
  instances.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) instances.push_back(rows[i].Uuid(0));
  return instances;
}

Result<uint64_t> EndRuns(DatabaseWriter& writer, const std::vector<std::string>& instances) {
  state::Store store(writer.database(), state::StateOptions());
  uint64_t runs = 0;
  for (const std::string& instance : instances) {
    for (size_t ended = 1; ended > 0; runs += ended) {
      AG_RETURN_IF_ERROR(writer.CheckAlive());
      AG_RETURN_IF_ERROR(writer.database().Prepare({}));
      AG_ASSIGN_OR_RETURN(ended, store.EndRunsOf(instance));
      AG_RETURN_IF_ERROR(store.Commit().status());
    }
  }
  return runs;
}

}  // namespace

Result<AfterRestore> FinishRestore(const std::string& url) {
  Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  AfterRestore done;
  AG_ASSIGN_OR_RETURN(done.hosts, CheckUnused(connection));
  AG_ASSIGN_OR_RETURN(done.history, RenewHistory(connection));
  AG_ASSIGN_OR_RETURN(const std::vector<std::string> instances, InstancesWithRuns(connection));
  if (instances.empty()) return done;
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<DatabaseWriter> writer,
                      DatabaseWriter::Open(url, "after-restore"));
  AG_ASSIGN_OR_RETURN(done.runs, EndRuns(*writer, instances));
  return done;
}

}  // namespace agent_graph::admin
