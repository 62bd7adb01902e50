#include "state/postgres/run_totals.h"

#include <string>
#include <string_view>
#include <vector>

#include "state/pack/fields.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"

namespace agent_graph::state::postgres {
namespace {

constexpr size_t kTotalsAtOnce = 1000;

// A dead instance writes nothing more. The key of a row is the beginning $2, the instance, and $3.
constexpr char kRowsOfTheDead[] =
    "SELECT key, value FROM agent_graph.meta WHERE key > $1 AND key < $2 || '~'::bytea AND "
    "NOT EXISTS (SELECT 1 FROM agent_graph.instance WHERE NOT dead AND meta.key = $2 || "
    "convert_to(replace(id::text, '-', ''), 'UTF8') || $3) ORDER BY key LIMIT $4 FOR UPDATE";
constexpr char kFindSum[] = "SELECT value FROM agent_graph.meta WHERE key = $1 FOR UPDATE";
constexpr char kPutSum[] =
    "INSERT INTO agent_graph.meta (key, value) VALUES ($1, $2) "
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value";
constexpr char kDeleteTotals[] = "DELETE FROM agent_graph.meta WHERE key = ANY ($1)";

// A row that cannot be read counts as zero. The readers of the totals do the same.
void AddTotals(std::string_view value, RunTotals& sum) {
  RunTotals row;
  if (!pack::FromBytes(value, row)) return;
  sum.continued += row.continued;
  sum.poisoned += row.poisoned;
}

Status FoldInTransaction(Connection& connection) {
  const std::string key = keys::Meta(kRunTotalsName);
  constexpr size_t kEndBytes = 2;  // of a text in a key
  const std::string beginning = key.substr(0, key.size() - kEndBytes);
  const std::string end = key.substr(key.size() - kEndBytes);
  AG_ASSIGN_OR_RETURN(const Rows dead,
                      connection.Execute({kRowsOfTheDead,
                                          {Value::Bytes(key), Value::Bytes(beginning),
                                           Value::Bytes(end), Value::Number(kTotalsAtOnce)}}));
  if (dead.empty()) return Status::Ok();
  RunTotals sum;
  std::vector<std::string> folded;
  for (size_t i = 0; i < dead.size(); ++i) {
    AddTotals(dead[i].Bytes(1), sum);
    folded.emplace_back(dead[i].Bytes(0));
  }
  AG_ASSIGN_OR_RETURN(const Rows before, connection.Execute({kFindSum, {Value::Bytes(key)}}));
  if (!before.empty()) AddTotals(before[0].Bytes(0), sum);
  return connection
      .Commit({{kPutSum, {Value::Bytes(key), Value::Bytes(pack::ToBytes(sum))}},
               {kDeleteTotals, {Value::BytesArray(folded)}}})
      .status();
}

}  // namespace

Status FoldRunTotals(Connection& connection) {
  connection.Begin();
  Status done = FoldInTransaction(connection);
  if (connection.in_transaction()) connection.Rollback();
  return done;
}

}  // namespace agent_graph::state::postgres
