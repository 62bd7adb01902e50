#include "admin/agentflow/tables.h"

#include <unordered_map>
#include <utility>

namespace agent_graph::admin::agentflow {
namespace {

using state::postgres::Row;
using state::postgres::Rows;
using state::postgres::Value;

// Schemas that have the three tables, those of the search path first.
constexpr char kSchemas[] =
    "SELECT quote_ident(n.nspname), n.nspname = ANY (current_schemas(false)) AS near "
    "FROM pg_namespace n WHERE 3 = (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid "
    "AND c.relkind IN ('r', 'p') AND c.relname IN ('threads', 'states', 'messages')) "
    "AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = "
    "to_regclass(quote_ident(n.nspname) || '.states') AND a.attname = 'state_data') "
    "ORDER BY near DESC, array_position(current_schemas(false), n.nspname), n.nspname";

constexpr char kColumns[] =
    "SELECT (SELECT atttypid::regtype::text FROM pg_attribute WHERE attrelid = "
    "to_regclass($1 || '.threads') AND attname = 'thread_id'), "
    "EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass($1 || '.states') "
    "AND attname = 'version' AND NOT attisdropped), "
    "to_regclass($1 || '.tool_executions') IS NOT NULL";

std::string Micros(const std::string& column) {
  return "coalesce((extract(epoch FROM " + column + ") * 1000000)::bigint, 0)";
}

std::vector<std::string> IdsOf(const std::vector<StoredThread>& threads) {
  std::vector<std::string> ids;
  ids.reserve(threads.size());
  for (const StoredThread& thread : threads) ids.push_back(thread.id);
  return ids;
}

std::unordered_map<std::string_view, StoredThread*> ById(std::vector<StoredThread>& threads) {
  std::unordered_map<std::string_view, StoredThread*> found;
  for (StoredThread& thread : threads) found.emplace(thread.id, &thread);
  return found;
}

}  // namespace

Status Tables::Open() {
  AG_RETURN_IF_ERROR(FindSchema());
  AG_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute({kColumns, {Value::Text(schema_)}}));
  if (rows[0].IsNull(0)) return {StatusCode::kNotConfigured, schema_ + ".threads has no thread_id"};
  id_type_ = rows[0].Text(0);
  has_versions_ = rows[0].Bool(1);
  has_tool_results_ = rows[0].Bool(2);
  return Status::Ok();
}

Status Tables::FindSchema() {
  AG_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute({kSchemas}));
  if (rows.empty()) {
    return {StatusCode::kNotConfigured,
            "the database has no tables of AgentFlow: threads, states and messages"};
  }
  schema_ = rows[0].Text(0);
  if (rows[0].Bool(1) || rows.size() == 1) return Status::Ok();
  std::string names;
  for (size_t i = 0; i < rows.size(); ++i) names += " " + std::string(rows[i].Text(0));
  return {StatusCode::kNotConfigured, "several schemas have tables of AgentFlow:" + names +
                                          "; add ?options=-csearch_path%3DNAME to the URL"};
}

Result<TableCounts> Tables::Count() {
  const std::string tool_results =
      has_tool_results_ ? "(SELECT count(*) FROM " + Table("tool_executions") + ")" : "0::bigint";
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection_.Execute({"SELECT (SELECT count(*) FROM " + Table("threads") +
                                           "), (SELECT count(DISTINCT thread_id) FROM " +
                                           Table("states") + "), (SELECT count(*) FROM " +
                                           Table("messages") + "), " + tool_results}));
  return TableCounts{rows[0].Number(0), rows[0].Number(1), rows[0].Number(2), rows[0].Number(3)};
}

Status Tables::ReadHeads() {
  // Adds up the sizes as stored, because reading the texts would take as long as the import.
  const std::string text =
      "SELECT t.thread_id::text, t.user_id::text, coalesce(t.thread_name, ''), "
      "coalesce(t.meta::text, ''), " +
      Micros("t.created_at") + ", " + Micros("t.updated_at") +
      ", (SELECT coalesce(sum(pg_column_size(m.content)), 0)::bigint FROM " + Table("messages") +
      " AS m WHERE m.thread_id = t.thread_id) FROM " + Table("threads") + " AS t" +
      (began_ ? " WHERE t.thread_id > $1::text::" + id_type_ : "") +
      // A literal, because the plan for a parameter would sort the whole table.
      " ORDER BY t.thread_id LIMIT " + std::to_string(kThreadsAtOnce);
  std::vector<Value> values;
  if (began_) values.push_back(Value::Text(last_id_));
  AG_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute({text, values}));
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    Head head;
    head.thread.id = row.Text(0);
    head.thread.user = row.Text(1);
    head.thread.name = row.Text(2);
    head.thread.metadata_json = row.Text(3);
    head.thread.created_micros = row.Bigint(4);
    head.thread.updated_micros = row.Bigint(5);
    head.bytes = row.Number(6);
    last_id_ = head.thread.id;
    began_ = true;
    heads_.push_back(std::move(head));
  }
  return Status::Ok();
}

Status Tables::ReadStates(std::vector<StoredThread>& threads) {
  AG_ASSIGN_OR_RETURN(
      const Rows rows,
      connection_.Execute(
          {"SELECT DISTINCT ON (thread_id) thread_id::text, state_data::text FROM " +
               Table("states") + " WHERE thread_id = " + IdsParameter() + " ORDER BY thread_id, " +
               (has_versions_ ? "version DESC, " : "created_at DESC, ") + "state_id DESC",
           {Value::TextArray(IdsOf(threads))}}));
  const auto found = ById(threads);
  for (size_t i = 0; i < rows.size(); ++i) {
    found.at(rows[i].Text(0))->state_json = rows[i].Text(1);
  }
  return Status::Ok();
}

Status Tables::ReadMessages(std::vector<StoredThread>& threads) {
  // Messages that were stored together have the same time, in the order of their places.
  AG_ASSIGN_OR_RETURN(
      const Rows rows,
      connection_.Execute({"SELECT thread_id::text, message_id::text, role::text, content::text, "
                           "tool_calls::text, reasoning, usages::text, meta::text, " +
                               Micros("created_at") + " FROM " + Table("messages") +
                               " WHERE thread_id = " + IdsParameter() +
                               " ORDER BY created_at, ctid",
                           {Value::TextArray(IdsOf(threads))}}));
  const auto found = ById(threads);
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows[i];
    found.at(row.Text(0))
        ->messages.push_back({.id = std::string(row.Text(1)),
                              .role = std::string(row.Text(2)),
                              .content = std::string(row.Text(3)),
                              .tool_calls_json = std::string(row.Text(4)),
                              .reasoning = std::string(row.Text(5)),
                              .usages_json = std::string(row.Text(6)),
                              .metadata_json = std::string(row.Text(7)),
                              .created_micros = row.Bigint(8)});
  }
  return Status::Ok();
}

Result<std::vector<StoredThread>> Tables::Next() {
  if (heads_.empty()) AG_RETURN_IF_ERROR(ReadHeads());
  std::vector<StoredThread> threads;
  uint64_t bytes = 0;
  while (!heads_.empty() && (threads.empty() || bytes + heads_.front().bytes <= kBytesAtOnce)) {
    bytes += heads_.front().bytes;
    threads.push_back(std::move(heads_.front().thread));
    heads_.pop_front();
  }
  if (threads.empty()) return threads;
  AG_RETURN_IF_ERROR(ReadStates(threads));
  AG_RETURN_IF_ERROR(ReadMessages(threads));
  return threads;
}

}  // namespace agent_graph::admin::agentflow
