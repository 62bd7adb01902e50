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

std::vector<Command> ClaimCommands(const std::string& name, const std::string& instance) {
  return {{"INSERT INTO agent_graph.job (name) VALUES ($1) ON CONFLICT DO NOTHING",
           {Value::Text(name)}},
          {kClaim, {Value::Text(name), Value::Uuid(instance)}}};
}

std::optional<int64_t> NumberOfClaim(const std::vector<Rows>& results) {
  const Rows& claimed = results.back();
  if (claimed.empty()) return std::nullopt;
  return claimed[0].Bigint(0);
}

Command FinishCommand(const JobClaim& claim, std::chrono::seconds pause) {
  return {
      "UPDATE agent_graph.job SET instance = NULL, due = now() + $4 * interval '1 second' "
      "WHERE name = $1 AND instance = $2 AND claim = $3",
      {Value::Text(claim.name), Value::Uuid(claim.instance), Value::Bigint(claim.number),
       Value::Integer(static_cast<int32_t>(pause.count()))}};
}

Result<std::optional<JobClaim>> ClaimJob(Connection& connection, const std::string& name,
                                         const std::string& instance) {
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results,
                      connection.ExecuteAll(ClaimCommands(name, instance)));
  const std::optional<int64_t> number = NumberOfClaim(results);
  if (!number) return std::optional<JobClaim>();
  return std::optional(JobClaim{name, instance, *number});
}

Status FinishJob(Connection& connection, const JobClaim& claim, std::chrono::seconds pause) {
  return connection.Execute(FinishCommand(claim, pause)).status();
}

}  // namespace agent_graph::state::postgres
