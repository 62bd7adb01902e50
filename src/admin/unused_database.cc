#include "admin/unused_database.h"

#include <string>
#include <thread>

#include "state/postgres/cluster/membership.h"

namespace agent_graph::admin {
namespace {

using state::postgres::Membership;
using state::postgres::Rows;

// A host that lives beats several times meanwhile.
constexpr auto kWatchTime = 3 * Membership::kBeatInterval;

constexpr char kBeats[] =
    "SELECT id::text || ' ' || incarnation || ' ' || beat, host FROM agent_graph.instance "
    "WHERE NOT dead ORDER BY id";

}  // namespace

Result<size_t> CheckUnused(state::postgres::Connection& connection) {
  AG_ASSIGN_OR_RETURN(const Rows before, connection.Execute({kBeats}));
  if (before.empty()) return size_t{0};
  std::this_thread::sleep_for(kWatchTime);
  AG_ASSIGN_OR_RETURN(const Rows after, connection.Execute({kBeats}));
  for (size_t i = 0; i < after.size(); ++i) {
    bool is_same = false;
    for (size_t k = 0; k < before.size(); ++k) is_same |= before[k].Text(0) == after[i].Text(0);
    if (is_same) continue;
    return Status(StatusCode::kBusy, "the database is in use by " + std::string(after[i].Text(1)) +
                                         ": stop all hosts first");
  }
  return before.size();
}

}  // namespace agent_graph::admin
