#include "state/postgres/housekeeping.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "runtime/thread.h"
#include "state/postgres/cluster/jobs.h"
#include "state/postgres/cluster/membership.h"
#include "state/postgres/memories/memory_changes.h"
#include "state/postgres/run_totals.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

constexpr char kJob[] = "housekeeping";
constexpr char kSweepJob[] = "sweep";
// The replay_lag of a standby that has replayed everything is null after a while.
constexpr char kStandbys[] =
    "SELECT count(*), coalesce(bool_and(state IS NOT NULL), false), "
    "(extract(epoch FROM coalesce(max(replay_lag), interval '0')) * 1000000)::bigint "
    "FROM pg_stat_replication";
constexpr char kDeadRows[] =
    "SELECT coalesce(sum(n_dead_tup), 0)::bigint FROM pg_stat_user_tables "
    "WHERE schemaname = 'agent_graph' AND relname = 'lease'";
// A host that was away for longer builds its search indexes again.
constexpr std::chrono::hours kMemoryChangesKept{1};
// True for an instance whose leases or waiting runs no other host has taken over yet. Each thread
// has a row in `lease`; those that a run holds are few, and are found by the index of lease_key.
constexpr char kInstanceIsUsed[] =
    "EXISTS (SELECT 1 FROM agent_graph.lease WHERE lease.lease_key IS NOT NULL AND "
    "lease.instance = instance.id) OR "
    "EXISTS (SELECT 1 FROM agent_graph.run_request WHERE run_request.instance = instance.id)";

// Replies and notices of an instance are useless once it is dead, because its id is not used again.
constexpr char kRemoveReplies[] =
    "DELETE FROM agent_graph.reply USING (SELECT $1::bytea || "
    "convert_to(replace(id::text, '-', ''), 'UTF8') AS prefix FROM agent_graph.instance WHERE dead "
    "AND ended < now() - interval '1 hour') AS gone "
    "WHERE reply.key >= gone.prefix AND reply.key < gone.prefix || '\\xff'::bytea";
constexpr char kRemoveNotices[] =
    "DELETE FROM agent_graph.notice USING agent_graph.instance WHERE notice.instance = instance.id "
    "AND instance.dead";

}  // namespace

Command RemoveUnusedInstances() {
  return RemoveDeadInstances(kInstanceIsUsed);
}

Housekeeping::Housekeeping(ConnectionOptions options, std::string instance,
                           std::shared_ptr<DatabaseStatus> status, Warn warn)
    : connection_(std::move(options)),
      instance_(std::move(instance)),
      status_(std::move(status)),
      warn_(std::move(warn)) {}

Housekeeping::~Housekeeping() {
  Stop();
}

Status Housekeeping::Start() {
  return runtime::StartThread(thread_, "state-tidy", [this] { Run(); });
}

void Housekeeping::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  stop_.NotifyAll();
  connection_.Interrupt();
  if (thread_.joinable()) thread_.join();
}

void Housekeeping::Report(const Status& done, bool& failing) {
  // Logged once, not each minute. Others log that the database is away.
  const bool is_away = EndsSession(connection_.failure().kind);
  const bool fails = !done.ok() && !is_away;
  if (fails && !failing) {
    warn_("old rows of the database cannot be removed: " + done.ToString());
  }
  failing = fails;
}

Status Housekeeping::Tidy() {
  Status tidied = TidyIfDue();
  Report(tidied, tidy_fails_);
  return tidied;
}

Status Housekeeping::Sweep(Deadline until) {
  Status swept = SweepIfDue(until);
  Report(swept, sweep_fails_);
  return swept;
}

Status Housekeeping::TidyIfDue() {
  AG_ASSIGN_OR_RETURN(const std::optional<JobClaim> claim, ClaimJob(connection_, kJob, instance_));
  if (!claim) return Status::Ok();
  for (bool more = true; more;) {
    AG_ASSIGN_OR_RETURN(const Rows removal,
                        connection_.Execute(RemoveMemoryChanges(kMemoryChangesKept)));
    more = MayLeaveMemoryChanges(removal);
  }
  const std::vector<Command> of_the_dead = {
      {kRemoveReplies, {Value::Bytes(keys::TablePrefix(keys::Table::kReply))}}, {kRemoveNotices}};
  AG_RETURN_IF_ERROR(connection_.ExecuteAll(of_the_dead).status());
  AG_RETURN_IF_ERROR(connection_.Execute(RemoveUnusedInstances()).status());
  AG_RETURN_IF_ERROR(FoldRunTotals(connection_));
  return FinishJob(connection_, *claim, kInterval);
}

Status Housekeeping::SweepIfDue(Deadline until) {
  AG_ASSIGN_OR_RETURN(const std::optional<JobClaim> claim,
                      ClaimJob(connection_, kSweepJob, instance_));
  if (!claim) return Status::Ok();
  bool more = true;
  while (more && MonotonicClock::now() < until) {
    AG_ASSIGN_OR_RETURN(more, sweep_.Next());
  }
  return FinishJob(connection_, *claim, more ? std::chrono::seconds(0) : kSweepPause);
}

void Housekeeping::Measure() {
  const Result<Rows> standbys = connection_.Execute({kStandbys});
  uint64_t count = DatabaseStatus::kUnknown;
  uint64_t lag = DatabaseStatus::kUnknown;
  if (standbys.ok()) {
    const Row row = (*standbys)[0];
    // A role that may not read them sees rows without values.
    count = row.Number(0);
    if (count == 0) lag = 0;
    if (row.Bool(1)) lag = row.Number(2);
  }
  status_->standbys.store(count, std::memory_order_relaxed);
  status_->standby_lag_micros.store(lag, std::memory_order_relaxed);
  const Result<Rows> dead = connection_.Execute({kDeadRows});
  status_->dead_rows.store(dead.ok() ? (*dead)[0].Number(0) : DatabaseStatus::kUnknown,
                           std::memory_order_relaxed);
}

void Housekeeping::Run() {
  Deadline tidy = MonotonicClock::now();
  for (;;) {
    Measure();
    if (MonotonicClock::now() >= tidy) {
      // After an error the next interval tries again.
      (void)Tidy();
      tidy = DeadlineAfter(kInterval);
    }
    const Deadline next = DeadlineAfter(kMeasureInterval);
    (void)Sweep(next);
    // Until the next interval the connection would only be idle.
    connection_.Close();
    MutexLock lock(mutex_);
    while (!stopping_ && stop_.WaitUntil(mutex_, next)) continue;
    if (stopping_) return;
  }
}

}  // namespace agent_graph::state::postgres
