#include "state/postgres/memories/memory_changes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "state/postgres/database/server_name.h"
#include "state/postgres/database/stable_hash.h"

namespace agent_graph::state::postgres {
namespace {

// Bounds how long a removal of changes holds up those who change memories.
constexpr int64_t kRemovedAtOnce = 1000;

// Stored in the database, so it never changes.
int64_t BucketOf(std::string_view owner) {
  return static_cast<int64_t>(StableHash(owner) % MemoryChanges::kBuckets);
}

// Locks the buckets in the order of their numbers, so that two transactions cannot deadlock.
constexpr char kLockBuckets[] =
    "SELECT 1 FROM agent_graph.memory_bucket WHERE bucket = ANY ($1) ORDER BY bucket FOR UPDATE";

constexpr char kRecord[] =
    "WITH counted AS (UPDATE agent_graph.memory_bucket SET seq = seq + 1 WHERE bucket = ANY ($1) "
    "RETURNING bucket, seq) INSERT INTO agent_graph.memory_change (bucket, seq, number, owner) "
    "SELECT counted.bucket, counted.seq, changed.number, changed.owner FROM counted JOIN "
    "unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS changed (bucket, number, owner) "
    "ON changed.bucket = counted.bucket ON CONFLICT DO NOTHING";

constexpr char kFindNews[] =
    "SELECT bucket, stored.seq, floor, known.seq FROM agent_graph.memory_bucket AS stored JOIN "
    "unnest($1::bigint[], $2::bigint[]) AS known (bucket, seq) USING (bucket) WHERE stored.seq <> "
    "known.seq";

constexpr char kReadChanges[] =
    "SELECT change.owner, change.number FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS "
    "news (bucket, from_seq, to_seq) JOIN agent_graph.memory_change AS change ON change.bucket = "
    "news.bucket AND change.seq > news.from_seq AND change.seq <= news.to_seq";

constexpr char kFloors[] =
    "SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) AS news (bucket, from_seq) JOIN "
    "agent_graph.memory_bucket AS stored USING (bucket) WHERE stored.floor > news.from_seq";

// Removes the oldest changes. It is one statement, so that it removes no changes of buckets that it
// has not locked: another statement would see what was committed meanwhile.
constexpr char kRemoveChanges[] =
    "WITH old AS MATERIALIZED (SELECT bucket, seq, number FROM agent_graph.memory_change WHERE "
    "created < now() - $1 * interval '1 second' ORDER BY created LIMIT $2), "
    "locked AS MATERIALIZED (SELECT bucket FROM agent_graph.memory_bucket WHERE bucket IN "
    "(SELECT bucket FROM old) ORDER BY bucket FOR UPDATE), "
    "removed AS (DELETE FROM agent_graph.memory_change WHERE (bucket, seq, number) IN "
    "(SELECT bucket, seq, number FROM old JOIN locked USING (bucket)) RETURNING bucket, seq), "
    "highest AS (SELECT bucket, max(seq) AS seq FROM removed GROUP BY bucket), "
    "raised AS (UPDATE agent_graph.memory_bucket AS stored SET floor = greatest(floor, "
    "highest.seq) FROM highest WHERE stored.bucket = highest.bucket) "
    "SELECT count(*) FROM removed";

}  // namespace

std::vector<Command> RecordMemoryChanges(std::span<const MemoryKey> memories) {
  if (memories.empty()) return {};
  std::vector<int64_t> buckets;
  std::vector<int64_t> numbers;
  std::vector<std::string> owners;
  for (const MemoryKey& memory : memories) {
    buckets.push_back(BucketOf(memory.owner));
    numbers.push_back(static_cast<int64_t>(memory.number));
    owners.push_back(memory.owner);
  }
  const Value all = Value::BigintArray(buckets);
  return {{kLockBuckets, {all}},
          {kRecord, {all, Value::BigintArray(numbers), Value::BytesArray(owners)}}};
}

Command RemoveMemoryChanges(std::chrono::seconds age) {
  return {kRemoveChanges,
          {Value::Integer(static_cast<int32_t>(age.count())), Value::Bigint(kRemovedAtOnce)}};
}

bool MayLeaveMemoryChanges(const Rows& removal) {
  return removal[0].Bigint(0) >= kRemovedAtOnce;
}

MemoryChanges::MemoryChanges(ConnectionOptions options) : connection_(std::move(options)) {
  positions_.fill(-1);
}

Result<std::vector<MemoryChanges::Position>> MemoryChanges::FindNews(const Scope& scope,
                                                                     ForeignChanges& changes) {
  std::vector<int64_t> buckets;
  if (scope.kind == Scope::Kind::kOwner) {
    buckets.push_back(BucketOf(scope.user_id));
  } else {
    for (size_t i = 0; i < kBuckets; ++i) buckets.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> positions;
  positions.reserve(buckets.size());
  for (const int64_t bucket : buckets) {
    positions.push_back(positions_[static_cast<size_t>(bucket)]);
  }
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> results,
      connection_.ExecuteAll(
          {{kFindNews, {Value::BigintArray(buckets), Value::BigintArray(positions)}},
           {kServerName}}));
  const std::string server(results[1][0].Text(0));
  const std::string known_server = std::exchange(server_, server);
  if (!known_server.empty() && known_server != server) {
    // After a failover, changes may have the places of others that were lost.
    positions_.fill(-1);
    has_failed_over_ = true;
    return FindNews(scope, changes);
  }
  const Rows& rows = results[0];
  std::vector<Position> news;
  int64_t count = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Position position{rows[i].Bigint(0), rows[i].Bigint(3), rows[i].Bigint(1)};
    const int64_t floor = rows[i].Bigint(2);
    news.push_back(position);
    if (position.from < 0) continue;
    // A restored database may be behind what was read from it.
    if (position.from < floor || position.to < position.from) changes.missed_some = true;
    count += position.to - position.from;
  }
  if (count > kChangesMax) changes.missed_some = true;
  return news;
}

Status MemoryChanges::ReadChanges(const std::vector<Position>& news, ForeignChanges& changes) {
  std::vector<int64_t> buckets;
  std::vector<int64_t> from;
  std::vector<int64_t> to;
  for (const Position& position : news) {
    if (position.from < 0) continue;
    buckets.push_back(position.bucket);
    from.push_back(position.from);
    to.push_back(position.to);
  }
  if (buckets.empty()) return Status::Ok();
  const Value in = Value::BigintArray(buckets);
  const Value after = Value::BigintArray(from);
  // The floors are read last: they show if some of the changes have just been removed.
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> rows,
                      connection_.ExecuteAll({{kReadChanges, {in, after, Value::BigintArray(to)}},
                                              {kFloors, {in, after}}}));
  changes.missed_some = rows[1][0].Bigint(0) > 0;
  for (size_t i = 0; i < rows[0].size(); ++i) {
    changes.memories.push_back({std::string(rows[0][i].Bytes(0)), rows[0][i].Number(1)});
  }
  return Status::Ok();
}

Status MemoryChanges::Take(const Scope& scope, const MemoryRows::UseChanges& use) {
  MutexLock lock(mutex_);
  ForeignChanges changes;
  AG_ASSIGN_OR_RETURN(const std::vector<Position> news, FindNews(scope, changes));
  if (has_failed_over_) changes.missed_some = true;
  if (news.empty() && !changes.missed_some) return Status::Ok();
  if (!changes.missed_some) AG_RETURN_IF_ERROR(ReadChanges(news, changes));
  use(changes);
  has_failed_over_ = false;
  for (const Position& position : news) {
    positions_[static_cast<size_t>(position.bucket)] = position.to;
  }
  return Status::Ok();
}

}  // namespace agent_graph::state::postgres
