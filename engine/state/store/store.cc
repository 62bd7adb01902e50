#include "state/store/store.h"
#include "state/requests.h"
#include "state/store/format.h"
#include "state/store/row_times.h"

#include <utility>

namespace agent_graph::state {
namespace {

// On a full disk only operations that free space, or that end what has begun, are executed.
bool NeedsSpace(Operation operation) {
  switch (operation) {
    case Operation::kFinishRun:
    case Operation::kReleaseRun:
    case Operation::kHandOverRun:
    case Operation::kRequestStop:
    case Operation::kClearState:
    case Operation::kDeleteThread:
    case Operation::kDeleteMessage:
    case Operation::kRemoveMessages:
    case Operation::kDeleteMemory:
    case Operation::kRemoveMemories:
      return false;
    default:
      return true;
  }
}

template <typename Body>
Result<Body> Decode(pack::Unpacker& unpacker) {
  Body body;
  if (!pack::TryUnpack(unpacker, body)) {
    return Status(StatusCode::kInvalidArgument, "malformed state operation");
  }
  return body;
}

// Decodes the body of an operation and executes it.
template <typename Body, typename Execution>
Result<ReplyRow> Decoded(pack::Unpacker& unpacker, Execution execute) {
  AG_ASSIGN_OR_RETURN(Body body, Decode<Body>(unpacker));
  return execute(body);
}

}  // namespace

Store::Store(Database& database, const StateOptions& options)
    : database_(database),
      sync_(options.sync),
      thread_ttl_(options.thread_ttl),
      log_kept_micros_(std::chrono::microseconds(options.log_kept).count()),
      log_bytes_max_(options.log_bytes_max),
      database_status_(options.database_status),
      transaction_(database, options.indexed_metadata),
      memories_(transaction_) {}

Status Store::Load() {
  // A shared database has numbered tables.
  if (!is_shared()) {
    AG_RETURN_IF_ERROR(TakeFormat(transaction_));
    transaction_.Accept(false);
  }
  AG_RETURN_IF_ERROR(LoadLeases());
  AG_RETURN_IF_ERROR(LoadAcceptedRuns());
  AG_RETURN_IF_ERROR(LoadReplies());
  AG_RETURN_IF_ERROR(LoadRemoteTools());
  AG_RETURN_IF_ERROR(LoadMetadataIndex());
  const auto now = MonotonicClock::now();
  for (auto& [id, entry] : clients_) entry.disconnected = now;
  if (!clients_.empty()) next_client_check_ = now;
  wants_sweep_ = true;
  next_key_expiry_ = now;
  if (thread_ttl_.count() > 0) next_expiry_ = now;
  if (!leases_.empty()) next_ping_ = now + kPingInterval;
  return Status::Ok();
}

Status Store::LoadLeases() {
  Status damage;
  if (is_shared()) return LoadOwnLeases();
  const std::string prefix = keys::TablePrefix(keys::Table::kLease);
  AG_RETURN_IF_ERROR(database_.Scan(
      prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        keys::Parser parser(key, keys::Table::kLease);
        Lease lease;
        lease.thread = parser.Thread();
        if (!parser.ok() || !pack::FromBytes(value, lease.row)) {
          damage = Status(StatusCode::kDataLoss, "a lease cannot be read back");
          return false;
        }
        if (!lease.row.queued_runs.empty()) {
          lease.row.queued_runs.clear();  // waiting clients resend their Begin
          lease.row.hosts.queued_micros.clear();
          transaction_.PutRow(std::string(key), lease.row);
        }
        if (!lease.row.client.empty()) {
          ClientEntry& client = clients_[lease.row.client];
          client.process = lease.row.process;
          client.process_start = lease.row.process_start;
        }
        lease.has_effects = lease.row.last_append > 0;
        damage = LoadOutsideChange(lease);
        if (!damage.ok()) return false;
        leases_.emplace(lease.row.thread_id, std::move(lease));
        return true;
      }));
  transaction_.Accept(false);
  return damage;
}

std::string Store::ReplyKey(const std::string& client, uint64_t sequence) const {
  return keys::Reply(database_.instance() + client, sequence);
}

Status Store::LoadReplies() {
  Status damage;
  const std::string& instance = database_.instance();
  const std::string prefix = keys::TablePrefix(keys::Table::kReply) + instance;
  AG_RETURN_IF_ERROR(database_.Scan(
      prefix, keys::PrefixEnd(prefix), [&](std::string_view key, std::string_view value) {
        keys::Parser parser(key, keys::Table::kReply);
        std::string client = parser.Text().substr(instance.size());
        uint64_t sequence = parser.Integer();
        ReplyRow reply;
        if (!parser.ok() || !pack::FromBytes(value, reply)) {
          damage = Status(StatusCode::kDataLoss, "a kept reply cannot be read back");
          return false;
        }
        clients_[client].replies.emplace(sequence, std::move(reply));
        return true;
      }));
  return damage;
}

Status Store::LoadRemoteTools() {
  AG_ASSIGN_OR_RETURN(std::optional<RemoteTools> tools,
                      transaction_.GetRow<RemoteTools>(keys::Meta(kRemoteToolsName)));
  if (tools) remote_tools_version_ = tools->version;
  return Status::Ok();
}

void Store::Connect(const ClientHello& hello, uint64_t connection) {
  ClientEntry& entry = clients_[hello.client];
  entry.process = hello.process;
  entry.process_start = hello.process_start;
  entry.connection = connection;
  entry.answers_pings = hello.answers_pings;
  entry.takes_runs = hello.takes_runs;
  entry.connected_here = true;
  SetHeard(entry);
  if (hello.takes_runs) ungranted_.MakeDue(MonotonicClock::now());
  DropWaitersOf(hello.client);
  LoseLeasesOf(hello.client, &hello, /*crashed=*/false);
  LoseSomeLeases();
  // Messages sent on the previous connection may have been lost.
  for (const auto& [thread_id, lease] : leases_) {
    if (lease.row.client == hello.client && lease.row.cancel_requested) NoticeCancel(lease.row);
  }
  AdmitWaiters();
  GrantRuns(MonotonicClock::now());
}

// Null if the client has another connection, or none.
ClientEntry* Store::FindClient(const std::string& client, uint64_t connection) {
  const auto found = clients_.find(client);
  if (found == clients_.end() || found->second.connection != connection) return nullptr;
  return &found->second;
}

void Store::Disconnect(const std::string& client, uint64_t connection) {
  ClientEntry* const entry = FindClient(client, connection);
  if (entry == nullptr) return;
  entry->connection = 0;
  entry->disconnected = MonotonicClock::now();
  next_client_check_ = entry->disconnected;
  DropWaitersOf(client);
}

void Store::Leave(const std::string& client, uint64_t connection) {
  ClientEntry* const entry = FindClient(client, connection);
  if (entry == nullptr) return;
  DropWaitersOf(client);
  ForgetReplies(client, *entry);
  clients_.erase(client);
  LoseLeasesOf(client, nullptr, /*crashed=*/false);
  LoseSomeLeases();
  AdmitWaiters();
  GrantRuns(MonotonicClock::now());
}

void Store::RefuseGrants(const std::string& client, uint64_t connection) {
  if (ClientEntry* const entry = FindClient(client, connection)) entry->takes_runs = false;
}

void Store::Apply(const ReplyAddress& from, const RequestHeader& header, pack::Unpacker& body) {
  if (!clients_.contains(from.client)) {
    return Refuse(from, Status(StatusCode::kInternal, "the client has sent no Hello"));
  }
  ClientEntry* const client = FindClient(from.client, from.connection);
  // The client sends it again on its next connection, if it still wants it.
  if (client == nullptr) {
    return Refuse(from, Status(StatusCode::kUnavailable, "the client has another connection"));
  }
  SetHeard(*client);
  if (AnswerAgain(from)) return;
  Acknowledge(from.client, *client, header.acknowledged_below);
  if (database_.low_on_space() && NeedsSpace(header.operation)) {
    return Refuse(from, Status(StatusCode::kUnavailable, "the disk of the state is full"));
  }
  if (header.operation == Operation::kBeginRun) {
    Result<BeginRunRequest> run = Decode<BeginRunRequest>(body);
    if (!run.ok()) return Refuse(from, run.status());
    return BeginRun({.run = std::move(*run),
                     .from = from,
                     .micros = RequestTime(database_, header.micros),
                     .sent_micros = ToRowTime(database_, header.micros),
                     .deadline = kNoDeadline});
  }
  bool sync = true;
  Result<ReplyRow> reply = Execute(from, header, body, sync);
  if (reply.ok()) {
    Accept(from, header.operation, std::move(*reply), sync);
  } else {
    transaction_.Reject();
    memories_.Reject();
    Refuse(from, reply.status());
  }
  AdmitWaiters();
}

Result<ReplyRow> Store::Execute(const ReplyAddress& from, const RequestHeader& header,
                                pack::Unpacker& body, bool& sync) {
  const int64_t micros = RequestTime(database_, header.micros);
  switch (header.operation) {
    case Operation::kAppendRun:
      return Decoded<AppendRunRequest>(body, [&](auto& append) {
        sync = append.durable;
        return AppendRun(from, append, micros);
      });
    case Operation::kFinishRun:
      return Decoded<FinishRunRequest>(
          body, [&](auto& finish) { return FinishRun(from, finish, micros); });
    case Operation::kReleaseRun:
      sync = false;
      return Decoded<ReleaseRunRequest>(
          body, [&](const auto& release) { return ReleaseRun(from, release); });
    case Operation::kRequestStop:
      return Decoded<StopRequest>(body, [&](const auto& stop) { return RequestStop(stop); });
    case Operation::kAcceptRun:
      return Decoded<AcceptRunRequest>(body, [&](auto& accept) {
        return AcceptRun(from, WithRowTimes(database_, std::move(accept)), micros);
      });
    case Operation::kClaimKey:
      return Decoded<ClaimKeyRequest>(body, [&](auto& claim) {
        claim.expires_micros = ToRowTime(database_, claim.expires_micros);
        return ClaimKey(claim, micros);
      });
    case Operation::kHandOverRun:
      return Decoded<HandOverRunRequest>(body,
                                         [&](const auto& run) { return HandOverRun(from, run); });
    default:
      return ExecuteChange(header, body);
  }
}

Result<ReplyRow> Store::ExecuteChange(const RequestHeader& header, pack::Unpacker& body) {
  const int64_t micros = RequestTime(database_, header.micros);
  switch (header.operation) {
    case Operation::kPutState:
      return Decoded<PutStateRequest>(body, [&](const auto& put) { return PutState(put, micros); });
    case Operation::kAppendMessages:
      return Decoded<AppendMessagesRequest>(
          body, [&](const auto& append) { return AppendMessages(append, micros); });
    case Operation::kClearState:
      return Decoded<ThreadRequest>(body,
                                    [&](const auto& clear) { return ClearState(clear, micros); });
    case Operation::kDeleteThread:
      return Decoded<ThreadRequest>(body, [&](const auto& thread) { return DeleteThread(thread); });
    case Operation::kDeleteMessage:
      return Decoded<MessageRequest>(body,
                                     [&](const auto& message) { return DeleteMessage(message); });
    case Operation::kRemoveMessages:
      return Decoded<RemoveMessagesRequest>(
          body, [&](const auto& remove) { return RemoveMessages(remove, micros); });
    case Operation::kReplaceRemoteTools:
      return Decoded<ReplaceRemoteToolsRequest>(
          body, [&](const auto& set) { return ReplaceRemoteTools(set); });
    case Operation::kStoreMemory:
      return Decoded<StoreMemoryRequest>(
          body, [&](const auto& store) { return memories_.StoreMemory(store, micros); });
    case Operation::kUpdateMemory:
      return Decoded<UpdateMemoryRequest>(
          body, [&](const auto& update) { return memories_.UpdateMemory(update, micros); });
    case Operation::kReplaceVectors:
      return Decoded<ReplaceVectorsRequest>(
          body, [&](const auto& put) { return memories_.ReplaceVectors(put); });
    case Operation::kDeleteMemory:
      return Decoded<MemoryName>(body,
                                 [&](const auto& name) { return memories_.DeleteMemory(name); });
    case Operation::kRemoveMemories:
      return Decoded<RemoveMemoriesRequest>(
          body, [&](const auto& remove) { return memories_.RemoveMemories(remove); });
    default:
      return Status(StatusCode::kInvalidArgument, kUnknownOperation);
  }
}

void Store::Tick(MonotonicClock::time_point now) {
  if (now >= next_waiter_) ExpireWaiters(now);
  if (now >= next_client_check_) CheckClients(now);
  if (now >= next_ping_) PingHolders(now);
  if (!lost_leases_.empty()) LoseSomeLeases();
  if (now >= next_expiry_) ExpireThreads(now);
  if (now >= next_key_expiry_) ExpireKeys(now);
  if (now >= next_indexing_) IndexThreads(now);
  AdmitWaiters();
  if (now >= next_grant_) GrantRuns(now);
}

void Store::Sweep() {
  SweepPortion portion;
  bool more = true;
  while (more && !portion.is_used_up()) {
    more = TakesSweep(SweepDeletedThread(database_, transaction_, portion, thread_sweep_),
                      thread_sweep_) ||
           TakesSweep(SweepCutLog(database_, transaction_, portion, log_sweep_), log_sweep_);
  }
  // The sweep does not see markers that are not committed yet.
  wants_sweep_ = std::exchange(has_new_markers_, false) || more;
}

// A thread whose rows cannot be read must not keep those of all others. The next state server tries
// it again.
bool Store::TakesSweep(const Result<bool>& more, SweepPosition& position) {
  if (more.ok()) {
    transaction_.Accept(false);
    return *more;
  }
  transaction_.Reject();
  const bool goes_on = position.SkipThread();
  if (!goes_on) position.BeginAgain();
  if (!std::exchange(position.is_reported, true)) {
    reports_.push_back(
        {LogLevel::kAlert, "deleted data cannot be read, and stays on the disk until it can: " +
                               more.status().ToString()});
  }
  return goes_on;
}

Result<std::vector<StoreReply>> Store::Commit() {
  AG_RETURN_IF_ERROR(transaction_.Commit());
  return TakeReplies();
}

Result<std::vector<StoreReply>> Store::CommitBeforeSync() {
  AG_RETURN_IF_ERROR(transaction_.CommitBeforeSync());
  return TakeReplies();
}

std::vector<StoreReply> Store::TakeReplies() {
  ++commits_;
  if (is_shared()) ForgetForeignLeases();
  return std::exchange(replies_, {});
}

std::vector<ReplyAddress> Store::Abandon() {
  std::vector<ReplyAddress> unanswered;
  unanswered.reserve(replies_.size());
  for (StoreReply& reply : replies_) unanswered.push_back(std::move(reply.to));
  const auto take = [&](WaiterList& waiters) {
    for (Waiter& waiter : waiters) {
      if (!waiter.accepted) unanswered.push_back(std::move(waiter.from));
    }
  };
  for (auto& [thread_id, lease] : leases_) take(lease.waiters);
  for (FreedThread& freed : admissions_) take(freed.waiters);
  return unanswered;
}

}  // namespace agent_graph::state
