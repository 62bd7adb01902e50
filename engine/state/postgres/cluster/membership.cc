#include "state/postgres/cluster/membership.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/ids.h"
#include "state/postgres/cluster/identity.h"
#include "state/postgres/database/server_name.h"
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {
namespace {

// Bounds how long Leave may delay the end of the process.
constexpr std::chrono::seconds kLeaveTimeout{2};

// Rows of several hosts are in the order of their times only if the hosts know the server's clock
// well. A reading that takes less than this is good enough.
constexpr std::chrono::milliseconds kQuickReading{1};
constexpr int kClockReadingsMax = 20;

// Microseconds since 1970.
constexpr char kClock[] = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

// At least the time in microseconds: a failover may lose the last counts, and workers refuse a
// state server whose epoch is lower than one that they have seen.
constexpr char kCountEpoch[] =
    "UPDATE agent_graph.cluster SET epoch = greatest(epoch + 1, "
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint) RETURNING epoch, cursor_mark";

// Waits for transactions that this instance has in progress: each holds its row FOR KEY SHARE, with
// which the updates below would not conflict. A batch of a process that was killed may still wait
// in the database. It must not be committed after its successor has begun, or after other hosts may
// have taken its runs over.
constexpr char kLockSelf[] =
    "SELECT 1 FROM agent_graph.instance WHERE id = $1 AND NOT dead FOR UPDATE";

constexpr char kAdopt[] =
    "UPDATE agent_graph.instance SET incarnation = incarnation + 1, beat = beat + 1, host = $2, "
    "address = $3, version = $4, schema = $5, started = now() WHERE id = $1 AND NOT dead "
    "RETURNING incarnation";

constexpr char kCreate[] =
    "INSERT INTO agent_graph.instance (id, incarnation, host, address, version, schema) "
    "VALUES ($1, 1, $2, $3, $4, $5)";

constexpr char kLiving[] = "SELECT count(*) FROM agent_graph.instance WHERE NOT dead";

constexpr char kLeave[] =
    "UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1 AND incarnation = $2 "
    "AND NOT dead";

constexpr char kBeat[] =
    "UPDATE agent_graph.instance SET beat = beat + 1 WHERE id = $1 AND incarnation = $2 "
    "AND NOT dead";

constexpr char kAcknowledge[] =
    "DELETE FROM agent_graph.notice WHERE instance = $1 AND id = ANY ($2)";

constexpr char kNotices[] =
    "SELECT id, kind, body FROM agent_graph.notice WHERE instance = $1 ORDER BY id "
    "LIMIT $2";

constexpr char kPeers[] = "SELECT id, beat, dead FROM agent_graph.instance WHERE id <> $1";

constexpr char kDeclareDead[] =
    "UPDATE agent_graph.instance SET dead = true, ended = now() WHERE id = $1 AND beat = $2 "
    "AND NOT dead AND EXISTS (SELECT 1 FROM agent_graph.instance AS self WHERE self.id = $3 AND "
    "self.incarnation = $4 AND NOT self.dead)";

// Each transaction of the instance holds its row FOR KEY SHARE. While one is in progress, this
// statement fails at once and the next beat tries again. Later transactions see that the instance
// is dead.
constexpr char kLockPeer[] =
    "SELECT 1 FROM agent_graph.instance WHERE id = $1 AND beat = $2 AND NOT dead FOR UPDATE NOWAIT";

constexpr char kDropNotices[] =
    "DELETE FROM agent_graph.notice WHERE instance = $1 AND EXISTS (SELECT 1 FROM "
    "agent_graph.instance WHERE id = $1 AND dead)";

std::vector<Value> Description(const std::string& id, const MembershipOptions& options) {
  return {Value::Uuid(id), Value::Text(options.host), Value::Text(options.channel),
          Value::Text(options.version), Value::Integer(SchemaSteps().back().number)};
}

}  // namespace

Membership::Membership(MembershipOptions options)
    : options_(std::move(options)), connection_(options_.database) {}

Status Membership::Join() {
  observer_.StartOver(options_.now());
  to_acknowledge_.clear();
  AG_RETURN_IF_ERROR(ReadClock());
  // An id that was lost is not adopted again: another process may use it.
  const std::string known = id_.empty() ? ReadIdentity(options_.identity_file) : "";
  if (!known.empty()) {
    AG_ASSIGN_OR_RETURN(const bool adopted, Adopt(known));
    if (adopted) return Status::Ok();
  }
  return Create();
}

Status Membership::ReadClock() {
  for (int reading = 0; reading < kClockReadingsMax; ++reading) {
    const auto began = options_.now();
    AG_ASSIGN_OR_RETURN(const Rows rows, connection_.Execute({kClock}));
    const auto ended = options_.now();
    options_.clock->Set(rows[0].Bigint(0), began, ended);
    if (ended - began < kQuickReading) break;
  }
  return Status::Ok();
}

void Membership::TakeClusterRow(const Row& row) {
  epoch_ = row.Number(0);
  history_ = row.Number(1);
}

Result<bool> Membership::Adopt(const std::string& id) {
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection_.ExecuteAll(
          {{kLockSelf, {Value::Uuid(id)}}, {kAdopt, Description(id, options_)}, {kCountEpoch}}));
  if (rows[1].empty()) return false;
  id_ = id;
  incarnation_ = rows[1][0].Bigint(0);
  TakeClusterRow(rows[2][0]);
  return true;
}

Status Membership::Create() {
  const std::string id = NewHexId();
  // First: an instance that this host cannot keep would have to be declared dead by the others. A
  // file that names no instance is of no harm.
  if (!options_.identity_file.empty()) {
    AG_RETURN_IF_ERROR(WriteIdentity(options_.identity_file, id));
  }
  connection_.Begin();
  const Status created = CreateInTransaction(id);
  if (connection_.in_transaction()) connection_.Rollback();
  return created;
}

Status Membership::CreateInTransaction(const std::string& id) {
  // The lock of the cluster's row orders these transactions.
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> rows,
                      connection_.ExecuteAll({{kCountEpoch}, {kLiving}}));
  TakeClusterRow(rows[0][0]);
  std::vector<Command> commands;
  if (rows[1][0].Bigint(0) == 0) commands = options_.when_alone;
  commands.push_back({kCreate, Description(id, options_)});
  AG_RETURN_IF_ERROR(connection_.Commit(commands).status());
  id_ = id;
  incarnation_ = 1;
  return Status::Ok();
}

Status Membership::Leave() {
  ConnectionOptions options = options_.database;
  options.answer_timeout = kLeaveTimeout;
  Connection connection(options);
  return connection
      .ExecuteAll({{kLockSelf, {Value::Uuid(id_)}},
                   {kLeave, {Value::Uuid(id_), Value::Bigint(incarnation_)}},
                   {kDropNotices, {Value::Uuid(id_)}}})
      .status();
}

Result<std::vector<Rows>> Membership::CommitBeat() {
  const Value self = Value::Uuid(id_);
  return connection_.ExecuteAll({{kBeat, {self, Value::Bigint(incarnation_)}},
                                 {kAcknowledge, {self, Value::BigintArray(to_acknowledge_)}},
                                 {kNotices, {self, Value::Bigint(kNoticesMax)}},
                                 {kPeers, {self}},
                                 {kServerName},
                                 {kClock}});
}

Result<Membership::News> Membership::Beat() {
  AG_CHECK(!id_.empty(), "only an instance that has joined beats");
  const auto began = options_.now();
  Result<std::vector<Rows>> rows = CommitBeat();
  const auto ended = options_.now();
  if (!rows.ok()) {
    observer_.StartOver(ended);
    return rows.status();
  }
  News news;
  news.lost = (*rows)[0].changed() == 0;
  if (news.lost) {
    // If a copy of this directory has adopted the id, the next server must not take it back.
    RemoveIdentity(options_.identity_file);
    return news;
  }

  to_acknowledge_.clear();
  for (size_t i = 0; i < (*rows)[2].size(); ++i) {
    const Row row = (*rows)[2][i];
    to_acknowledge_.push_back(row.Bigint(0));
    news.notices.push_back({row.Bigint(0), row.Integer(1), std::string(row.Bytes(2))});
  }
  news.may_have_more = news.notices.size() == kNoticesMax;
  std::vector<PeerBeat> living;
  for (size_t i = 0; i < (*rows)[3].size(); ++i) {
    const Row row = (*rows)[3][i];
    if (row.Bool(2)) {
      news.dead.push_back(row.Uuid(0));
    } else {
      living.push_back({row.Uuid(0), row.Bigint(1)});
    }
  }
  const std::string server((*rows)[4][0].Text(0));
  options_.clock->Set((*rows)[5][0].Bigint(0), began, ended);
  if (connection_.sessions() != session_ || server != server_) observer_.StartOver(ended);
  session_ = connection_.sessions();
  server_ = server;
  for (const PeerBeat& peer : observer_.Observe(living, began, ended)) {
    const Result<bool> declared = DeclareDead(peer);
    // A failure is ignored, because the beat itself was committed. The next beat tries again.
    if (!declared.ok() || !*declared) continue;
    news.dead.push_back(peer.id);
    news.declared_dead.push_back(peer.id);
  }
  return news;
}

Result<bool> Membership::DeclareDead(const PeerBeat& peer) {
  const Value id = Value::Uuid(peer.id);
  const Value beat = Value::Bigint(peer.beat);
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> rows,
      connection_.ExecuteAll(
          {{kLockPeer, {id, beat}},
           {kDeclareDead, {id, beat, Value::Uuid(id_), Value::Bigint(incarnation_)}},
           {kDropNotices, {id}}}));
  return rows[1].changed() == 1;
}

Command SendNotice(const std::string& instance, int32_t kind, std::string_view body) {
  return {
      "INSERT INTO agent_graph.notice (instance, kind, body) SELECT $1, $2, $3 WHERE EXISTS "
      "(SELECT 1 FROM agent_graph.instance WHERE id = $1 AND NOT dead)",
      {Value::Uuid(instance), Value::Integer(kind), Value::Bytes(body)}};
}

Command HoldInstance(const std::string& instance, int64_t incarnation) {
  return {
      "SELECT 1 FROM agent_graph.instance WHERE id = $1 AND incarnation = $2 AND NOT dead "
      "FOR KEY SHARE",
      {Value::Uuid(instance), Value::Bigint(incarnation)}};
}

Command RemoveDeadInstances(const std::string& is_used) {
  std::string text =
      "DELETE FROM agent_graph.instance WHERE dead AND ended < now() - interval '1 hour'";
  if (!is_used.empty()) text += " AND NOT (" + is_used + ")";
  return {std::move(text)};
}

}  // namespace agent_graph::state::postgres
