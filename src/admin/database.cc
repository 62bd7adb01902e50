#include "admin/database.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/ids.h"
#include "settings/load_file.h"
#include "settings/settings.h"
#include "state/postgres/database/url.h"
#include "state/postgres/rows/row_database.h"
#include "state/postgres/schema/migration.h"
#include "state/verify/verify.h"

namespace agent_graph::admin {
namespace {

using state::postgres::Connection;
using state::postgres::ConnectionOptions;
using state::postgres::Rows;
using state::postgres::Value;

constexpr uint64_t kFilesAtOnce = 1000;

// Compares the rows of files with their chunks, kFilesAtOnce files at a time.
Status VerifyFiles(Connection& connection, state::VerifyReport& report) {
  std::string last;
  for (;;) {
    AG_ASSIGN_OR_RETURN(
        const Rows rows,
        connection.Execute(
            {"SELECT f.file_id, f.size, count(c.n), coalesce(sum(length(c.body)), 0)::bigint, "
             "coalesce(max(c.n) + 1, 0)::bigint FROM (SELECT * FROM agent_graph.file "
             "WHERE complete AND file_id > $1 ORDER BY file_id LIMIT $2) AS f "
             "LEFT JOIN agent_graph.file_chunk AS c USING (file_id) "
             "GROUP BY f.file_id, f.size ORDER BY f.file_id",
             {Value::Text(last), Value::Number(kFilesAtOnce)}}));
    for (size_t i = 0; i < rows.size(); ++i) {
      last = rows[i].Text(0);
      report.rows += 1 + rows[i].Number(2);
      if (rows[i].Bigint(1) == rows[i].Bigint(3) && rows[i].Bigint(2) == rows[i].Bigint(4))
        continue;
      ++report.problem_count;
      if (report.problems.size() < state::VerifyReport::kProblemsMax) {
        report.problems.push_back("file " + last + ": chunks are missing");
      }
    }
    if (rows.size() < kFilesAtOnce) return Status::Ok();
  }
}

}  // namespace

ConnectionOptions MaintenanceOptions(const std::string& url) {
  ConnectionOptions options;
  options.url = url;
  options.application_name = "agent-graph-admin";
  options.statement_timeout = std::chrono::milliseconds(0);
  options.answer_timeout = std::chrono::hours(1);
  return options;
}

bool NamesDatabase(const std::string& target) {
  std::error_code error;
  return state::postgres::IsConnectionUrl(target) ||
         std::filesystem::is_regular_file(target, error);
}

Result<std::string> DatabaseUrlOf(const std::string& target) {
  if (state::postgres::IsConnectionUrl(target)) return target;
  AG_ASSIGN_OR_RETURN(const settings::Settings settings, settings::LoadFile(target));
  if (settings.checkpointer.type == settings::CheckpointerSettings::Type::kPostgres) {
    return settings.checkpointer.url;
  }
  return InvalidArgument(target + ": checkpointer.type is not postgres");
}

Status MigrateDatabase(const std::string& url,
                       const std::function<void(int number, const char* name)>& done) {
  Connection connection(MaintenanceOptions(url));
  return state::postgres::MigrateSchema(
      connection, [&](const state::postgres::SchemaStep& step) { done(step.number, step.name); });
}

Result<state::VerifyReport> VerifyDatabase(const std::string& url) {
  Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  AG_RETURN_IF_ERROR(state::postgres::CheckTables(connection));
  state::postgres::RowDatabaseOptions options;
  options.connection = connection.options();
  options.identity.instance = NewHexId();  // stands for a host that writes nothing
  const state::postgres::RowDatabase database(options);
  AG_ASSIGN_OR_RETURN(state::VerifyReport report, state::Verify(database));
  AG_RETURN_IF_ERROR(VerifyFiles(connection, report));
  return report;
}

}  // namespace agent_graph::admin
