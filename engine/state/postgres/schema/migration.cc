#include "state/postgres/schema/migration.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

namespace agent_graph::state::postgres {
namespace {

// The number of the advisory lock that migrations take: "agraph" in ASCII.
constexpr int64_t kMigrationLock = 0x616772617068;

Status SchemaProblem(std::string text) {
  return {StatusCode::kNotConfigured, std::move(text)};
}

// Returns the first step that follows `version`; null if there is none.
const SchemaStep* NextStep(const SchemaVersion& version, std::span<const SchemaStep> steps) {
  for (const SchemaStep& step : steps) {
    if (step.number > version.number) return &step;
  }
  return nullptr;
}

std::string StepScript(const SchemaStep& step) {
  const std::string number = std::to_string(step.number);
  const std::string usable_from = std::to_string(step.usable_from);
  return std::string(step.script) +
         "\nINSERT INTO agent_graph.schema_version (number, usable_from, name) VALUES (" + number +
         ", " + usable_from + ", '" + step.name + "');";
}

// Locks out other migrations until the end of the transaction, and waits for one that is in
// progress. The changes themselves wait only briefly for statements in progress: new statements
// would queue behind them.
std::string LockScript() {
  return "BEGIN; SET LOCAL lock_timeout = '30s'; SELECT pg_advisory_xact_lock(" +
         std::to_string(kMigrationLock) + "); SET LOCAL lock_timeout = '2s';";
}

// CREATE SCHEMA IF NOT EXISTS would need the right to create schemas also if it exists.
constexpr char kFirstTables[] = R"sql(
DO $$ BEGIN
  IF to_regnamespace('agent_graph') IS NULL THEN
    CREATE SCHEMA agent_graph;
  END IF;
END $$;
CREATE TABLE IF NOT EXISTS agent_graph.schema_version (
  number      integer PRIMARY KEY,
  usable_from integer NOT NULL,
  name        text NOT NULL,
  applied     timestamptz NOT NULL DEFAULT now()
);
)sql";

// The first table or sequence of the schema that the service cannot write. It only reads
// schema_version and import. Sequences of identity columns need no right.
constexpr char kLackingRights[] = R"sql(
SELECT relname::text FROM pg_class
WHERE relnamespace = to_regnamespace('agent_graph')
  AND relname NOT IN ('schema_version', 'import')
  AND NOT CASE relkind
    WHEN 'r' THEN has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
      AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE')
    WHEN 'S' THEN has_sequence_privilege(oid, 'USAGE')
      OR EXISTS (SELECT 1 FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'i')
    ELSE true END
  AND (SELECT max(number) FROM agent_graph.schema_version) = $1
ORDER BY relname LIMIT 1
)sql";

// The tables and sequences that the steps have made, as their statements name them.
std::set<std::string> NamesOf(std::span<const SchemaStep> steps) {
  constexpr std::string_view kSchema = "agent_graph.";
  std::set<std::string> names;
  for (const SchemaStep& step : steps) {
    std::istringstream words(step.script);
    std::string verb;
    std::string kind;
    for (std::string word; words >> word; verb = std::exchange(kind, word)) {
      if ((kind != "TABLE" && kind != "SEQUENCE") || !word.starts_with(kSchema)) continue;
      std::string name = word.substr(kSchema.size());
      name.resize(std::min(name.find_first_of("(;"), name.size()));
      if (verb == "CREATE") names.insert(std::move(name));
      if (verb == "DROP") names.erase(name);
    }
  }
  return names;
}

// Executes one step unless another process has done so meanwhile.
Status ExecuteStep(Connection& connection, const SchemaStep& step) {
  std::string script = LockScript();
  if (step.number == 1) script += kFirstTables;
  // A step that exists violates the primary key at its end, and all of it is rolled back.
  script += StepScript(step) + "COMMIT;";
  Status executed = connection.RunScript(script);
  if (executed.ok()) return executed;
  const Failure failure = connection.failure();
  // The script has failed within its transaction.
  if (connection.is_open()) AG_RETURN_IF_ERROR(connection.RunScript("ROLLBACK"));
  if (failure.kind == FailureKind::kLost || failure.kind == FailureKind::kInterrupted) {
    return executed;
  }
  AG_ASSIGN_OR_RETURN(const SchemaVersion version, ReadSchemaVersion(connection));
  return version.number >= step.number ? Status::Ok() : executed;
}

}  // namespace

Result<SchemaVersion> ReadSchemaVersion(Connection& connection) {
  // Two statements, because one that names a missing table cannot be prepared.
  AG_ASSIGN_OR_RETURN(
      const Rows found,
      connection.Execute({"SELECT to_regclass('agent_graph.schema_version') IS NOT NULL"}));
  SchemaVersion version;
  if (!found[0].Bool(0)) return version;
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection.Execute({"SELECT number, usable_from FROM "
                                          "agent_graph.schema_version ORDER BY number DESC "
                                          "LIMIT 1"}));
  if (rows.empty()) return version;
  version.number = rows[0].Integer(0);
  version.usable_from = rows[0].Integer(1);
  return version;
}

Status CheckSchema(Connection& connection, std::span<const SchemaStep> steps) {
  AG_ASSIGN_OR_RETURN(const SchemaVersion version, ReadSchemaVersion(connection));
  const int ours = steps.back().number;
  const std::string number = std::to_string(version.number);
  if (version.number == 0) {
    return SchemaProblem(
        "the database has no tables of Agent Graph: run agent-graph-admin migrate");
  }
  if (version.number < ours) {
    return SchemaProblem("the tables of the database have version " + number +
                         ", this build needs version " + std::to_string(ours) +
                         ": run agent-graph-admin migrate");
  }
  if (version.usable_from > ours) {
    return SchemaProblem("the tables of the database have version " + number +
                         ", which this build cannot use (it knows version " + std::to_string(ours) +
                         "): install a newer build");
  }
  return Status::Ok();
}

Status CheckTables(Connection& connection, std::span<const SchemaStep> steps) {
  AG_ASSIGN_OR_RETURN(const SchemaVersion version, ReadSchemaVersion(connection));
  if (version.number != steps.back().number) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection.Execute({"SELECT relname::text FROM pg_class "
                                          "WHERE relnamespace = to_regnamespace('agent_graph')"}));
  std::set<std::string> missing = NamesOf(steps);
  for (size_t i = 0; i < rows.size(); ++i) missing.erase(std::string(rows[i].Text(0)));
  if (missing.empty()) return Status::Ok();
  return SchemaProblem("the database lacks agent_graph." + *missing.begin() +
                       ", although its tables have version " + std::to_string(version.number) +
                       ": restore the database from a backup (no migration makes it again)");
}

Status CheckRights(Connection& connection) {
  AG_ASSIGN_OR_RETURN(
      const Rows lacking,
      connection.Execute({kLackingRights, {Value::Integer(SchemaSteps().back().number)}}));
  if (lacking.empty()) return Status::Ok();
  return SchemaProblem("the user of the database lacks a right on agent_graph." +
                       std::string(lacking[0].Text(0)) +
                       ": grant SELECT, INSERT, UPDATE and DELETE on all tables of the schema "
                       "agent_graph, and USAGE and SELECT on its sequences");
}

Status MigrateSchema(Connection& connection,
                     const std::function<void(const SchemaStep& step)>& done,
                     std::span<const SchemaStep> steps) {
  for (;;) {
    AG_ASSIGN_OR_RETURN(const SchemaVersion version, ReadSchemaVersion(connection));
    const SchemaStep* const step = NextStep(version, steps);
    if (step == nullptr) return CheckTables(connection, steps);
    AG_RETURN_IF_ERROR(ExecuteStep(connection, *step));
    if (done) done(*step);
  }
}

}  // namespace agent_graph::state::postgres
