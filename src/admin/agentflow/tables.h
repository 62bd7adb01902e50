// Reads the tables of AgentFlow's PgCheckpointer, the reference server in Python.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"

namespace agent_graph::admin::agentflow {

// A row of `messages`. Members that end with `_json` are empty if the column is null.
struct StoredMessage {
  std::string id;
  std::string role;
  std::string content;  // JSON of the blocks; rows of old versions have the text itself
  std::string tool_calls_json = {};
  std::string reasoning = {};
  std::string usages_json = {};
  std::string metadata_json = {};
  int64_t created_micros = 0;
};

// A row of `threads` with what belongs to it.
struct StoredThread {
  std::string id;
  std::string user;
  std::string name = {};
  std::string metadata_json = {};
  int64_t created_micros = 0;
  int64_t updated_micros = 0;
  std::string state_json = {};               // the latest row of `states`; empty: none
  std::vector<StoredMessage> messages = {};  // in the order in which they were stored
};

struct TableCounts {
  uint64_t threads = 0;
  uint64_t states = 0;  // threads that have one
  uint64_t messages = 0;
  uint64_t tool_results = 0;  // kept for runs that were interrupted
};

// Not thread-safe; calls block. The tables are only read.
class Tables {
 public:
  explicit Tables(state::postgres::Connection& connection) : connection_(connection) {}

  // Finds the tables: in the search path of the session, or else in the only schema that has them.
  // kNotConfigured: there are none, or several.
  Status Open();
  Result<TableCounts> Count();
  // The next threads, in the order of their ids: about as many as kBytesAtOnce has room for, at
  // least one; empty at the end.
  Result<std::vector<StoredThread>> Next();

 private:
  static constexpr size_t kThreadsAtOnce = 1000;
  static constexpr uint64_t kBytesAtOnce = uint64_t{8} * 1024 * 1024;

  Status FindSchema();
  Status ReadHeads();
  Status ReadStates(std::vector<StoredThread>& threads);
  Status ReadMessages(std::vector<StoredThread>& threads);
  std::string Table(const char* name) const { return schema_ + "." + name; }
  // A parameter with the ids of some threads, as their column has them.
  std::string IdsParameter() const { return "ANY ($1::text[]::" + id_type_ + "[])"; }

  // A thread that was not returned yet, and the approximate size of its messages.
  struct Head {
    StoredThread thread;
    uint64_t bytes = 0;
  };

  state::postgres::Connection& connection_;
  std::string schema_;   // quoted
  std::string id_type_;  // type of the ids of threads
  bool has_versions_ = false;
  bool has_tool_results_ = false;
  bool began_ = false;
  std::string last_id_;
  std::deque<Head> heads_;
};

}  // namespace agent_graph::admin::agentflow
