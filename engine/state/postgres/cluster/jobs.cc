#include "state/postgres/cluster/jobs.h"

namespace agent_graph::state::postgres {
namespace {

// A claim with our own id was left by an earlier process of this host, so it may be taken.
constexpr char kClaim[] =
    "UPDATE agent_graph.job SET instance = $2, claim = claim + 1 WHERE name = (SELECT name FROM "
    "agent_graph.job AS free WHERE name = $1 AND due <= now() AND NOT EXISTS (SELECT 1 FROM "
    "agent_graph.instance WHERE id = free.instance AND id <> $2 AND NOT dead) FOR UPDATE SKIP "
    "LOCKED) RETURNING claim";

}  // namespace

Result<std::optional<JobClaim>> ClaimJob(Connection& connection, const std::string& name,
                                         const std::string& instance) {
  const Command claim{kClaim, {Value::Text(name), Value::Uuid(instance)}};
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection.ExecuteAll({{"INSERT INTO agent_graph.job (name) VALUES ($1) ON CONFLICT DO "
                              "NOTHING",
                              {Value::Text(name)}},
                             claim}));
  std::optional<JobClaim> claimed;
  if (!rows[1].empty()) claimed = JobClaim{name, instance, rows[1][0].Bigint(0)};
  return claimed;
}

Status FinishJob(Connection& connection, const JobClaim& claim, std::chrono::seconds pause) {
  return connection
      .Execute({"UPDATE agent_graph.job SET instance = NULL, due = now() + $4 * interval '1 "
                "second' WHERE name = $1 AND instance = $2 AND claim = $3",
                {Value::Text(claim.name), Value::Uuid(claim.instance), Value::Bigint(claim.number),
                 Value::Integer(static_cast<int32_t>(pause.count()))}})
      .status();
}

}  // namespace agent_graph::state::postgres
