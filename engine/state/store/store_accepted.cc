// Store: accepting runs, with their requests and their keys.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "state/key_owner.h"
#include "state/rules/scope.h"
#include "state/store/batch_use.h"
#include "state/store/store.h"

namespace agent_graph::state {
namespace {

constexpr std::chrono::seconds kKeyExpiryInterval{60};
constexpr size_t kKeysExpiredAtOnce = 256;

// The records of a thread's runs are trimmed with its log. A run that ends while it waits adds
// nothing to the log, so accepting a run trims them too: one run out of 64, spread evenly over
// threads that take turns.
bool TrimsRecords(uint64_t order) {
  constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  constexpr int kShareBits = 6;
  return order * kGoldenRatio >> (64 - kShareBits) == 0;
}

// All accepted runs of a database that no other host writes, in their order.
Result<std::vector<Database::AcceptedRun>> FindAcceptedRuns(const Database& database) {
  std::vector<Database::AcceptedRun> found;
  Status damage;
  const std::string prefix = keys::TablePrefix(keys::Table::kRunRequest);
  AG_RETURN_IF_ERROR(
      database.Scan(prefix, keys::PrefixEnd(prefix), [&](std::string_view, std::string_view value) {
        RunRequestRow row;
        if (!pack::FromBytes(value, row)) {
          damage = Status(StatusCode::kDataLoss, "an accepted run cannot be read back");
          return false;
        }
        const BeginRunRequest& begin = row.accept.begin;
        found.push_back({begin.thread_id, begin.run_id, row.order, value.size()});
        return true;
      }));
  AG_RETURN_IF_ERROR(damage);
  std::ranges::sort(found, std::less(), &Database::AcceptedRun::order);
  return found;
}

// The run that an earlier execution of the same request has begun. The reply to that one is lost if
// the host was declared dead before it arrived: replies belong to an instance. Each request has a
// creation id of its own, which is in the row of a thread that it made, and in that of the request
// as long as the run has not ended.
Result<std::optional<RunRow>> FindRunOfRequest(const Transaction& transaction,
                                               const BeginRunRequest& begin) {
  const std::optional<RunRow> none;
  if (begin.creation_id.empty()) return none;
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> thread,
                      FindThread(transaction, begin.thread_id));
  if (!thread) return none;
  AG_ASSIGN_OR_RETURN(std::optional<RunRow> run,
                      transaction.GetRow<RunRow>(keys::Run(thread->key(), begin.run_id)));
  if (!run || thread->creation_id == begin.creation_id) return run;
  AG_ASSIGN_OR_RETURN(
      const std::optional<RunRequestRow> request,
      transaction.GetRow<RunRequestRow>(keys::RunRequest(thread->key(), begin.run_id)));
  return request && request->accept.begin.creation_id == begin.creation_id ? run : none;
}

template <typename Answer>
ReplyRow AnswerOf(const Answer& answer) {
  ReplyRow reply;
  reply.body = pack::ToBytes(answer);
  return reply;
}

}  // namespace

// An accepted run may wait until its deadline; no other limit applies.
Waiter Store::WaiterOf(const AcceptRunRequest& accept) {
  Waiter waiter;
  waiter.run = accept.begin;
  waiter.deadline = DeadlineOf(accept);
  waiter.accepted = true;
  waiter.micros = database_.Now();
  next_waiter_ = std::min(next_waiter_, waiter.deadline);
  return waiter;
}

Deadline Store::DeadlineOf(const AcceptRunRequest& accept) const {
  if (accept.deadline_micros == 0) return kNoDeadline;
  return MonotonicClock::now() +
         std::chrono::microseconds(accept.deadline_micros - database_.Now());
}

Status Store::LoadAcceptedRuns() {
  if (is_shared()) return LoadOwnAcceptedRuns();
  AG_ASSIGN_OR_RETURN(const std::vector<Database::AcceptedRun> runs, FindAcceptedRuns(database_));
  for (const Database::AcceptedRun& run : runs) AG_RETURN_IF_ERROR(LoadAcceptedRun({}, run));
  return Status::Ok();
}

Status Store::LoadAcceptedRun(const std::string& instance, const Database::AcceptedRun& run) {
  if (run.thread_id.empty()) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> row, FindThread(transaction_, run.thread_id));
  if (!row) return Status::Ok();
  const keys::ThreadKey thread = row->key();
  AG_ASSIGN_OR_RETURN(const std::optional<RunRequestRow> request,
                      transaction_.GetRow<RunRequestRow>(keys::RunRequest(thread, run.run_id)));
  // A thread of this id was deleted, but not swept yet. Or, until the thread was locked, another
  // host has taken the run over, or has ended it.
  const bool is_same = request && request->order == run.order && request->instance == instance;
  if (!is_same) return Status::Ok();
  const BeginRunRequest& begin = request->accept.begin;
  auto lease = leases_.find(begin.thread_id);
  const bool has_lease = lease != leases_.end() && lease->second.row.run_id == begin.run_id;
  if (has_lease && !IsOurs(lease->second)) return Status::Ok();  // another host continues it
  if (instance != database_.instance()) AG_RETURN_IF_ERROR(TakeRequest(thread, begin.run_id));
  if (has_lease) {
    AG_ASSIGN_OR_RETURN(const std::optional<RunRow> record,
                        transaction_.GetRow<RunRow>(keys::Run(thread, begin.run_id)));
    lease->second.accepted = true;
    lease->second.suspect = record && record->suspect;
    CountGrant(lease->second, true);
    lease->second.waiting_since_micros = database_.Now();
    lease->second.deadline = DeadlineOf(request->accept);
    if (lease->second.row.client.empty()) WaitForGrant(begin.thread_id, MonotonicClock::now());
    return Status::Ok();
  }
  Waiter waiter = WaiterOf(request->accept);
  if (lease == leases_.end()) {
    StartAccepted(waiter);
  } else {
    Enqueue(lease->second, std::move(waiter));
    transaction_.Accept(false);
  }
  return Status::Ok();
}

// Records that the run waits or is executed at this host from now on.
Status Store::TakeRequest(const keys::ThreadKey& thread, const std::string& run_id) {
  const std::string key = keys::RunRequest(thread, run_id);
  AG_ASSIGN_OR_RETURN(std::optional<RunRequestRow> request,
                      transaction_.GetRow<RunRequestRow>(key));
  if (!request) return Status::Ok();
  request->instance = database_.instance();
  transaction_.PutRow(key, *request);
  transaction_.Accept(true);
  return Status::Ok();
}

Result<std::optional<AcceptRunReply>> Store::FindRunOfKey(const AcceptRunRequest& accept,
                                                          int64_t micros) const {
  using Outcome = AcceptRunReply::Outcome;
  const std::string key = keys::RunKey(KeyOwner(accept.begin), accept.key->route, accept.key->key);
  AG_ASSIGN_OR_RETURN(const std::optional<RunKeyRow> row, transaction_.GetRow<RunKeyRow>(key));
  if (!row || row->expires_micros <= micros) return std::optional<AcceptRunReply>();
  if (row->body_hash != accept.key->body_hash) {
    return std::optional(AcceptRunReply{Outcome::kOtherBody, {}});
  }
  AG_ASSIGN_OR_RETURN(const std::optional<ThreadRow> thread,
                      FindThread(transaction_, row->thread_id));
  const keys::ThreadKey place{row->owner, row->thread_number};
  const std::optional<AcceptRunReply> deleted = AcceptRunReply{Outcome::kRunDeleted, {}};
  if (!thread || thread->key() != place) return deleted;
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> run,
                      transaction_.GetRow<RunRow>(keys::Run(place, row->run_id)));
  if (!run) return deleted;
  return std::optional(AcceptRunReply{Outcome::kRepeated, run->record});
}

void Store::StageKey(const AcceptRunRequest& accept, const ThreadRow& thread, int64_t micros) {
  const RunKeyRow row{.body_hash = accept.key->body_hash,
                      .thread_id = accept.begin.thread_id,
                      .owner = thread.owner,
                      .thread_number = thread.number,
                      .run_id = accept.begin.run_id,
                      .expires_micros = micros + kRunKeyMicros};
  PutKey(KeyOwner(accept.begin), *accept.key, row);
}

Result<ReplyRow> Store::AcceptRun(const ReplyAddress& from, const AcceptRunRequest& accept,
                                  int64_t micros) {
  const BeginRunRequest& begin = accept.begin;
  if (accept.key) {
    AG_ASSIGN_OR_RETURN(const std::optional<AcceptRunReply> known, FindRunOfKey(accept, micros));
    if (known) return AnswerOf(*known);
  }
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> earlier, FindRunOfRequest(transaction_, begin));
  if (earlier) return AnswerOf(AcceptRunReply{AcceptRunReply::Outcome::kAccepted, earlier->record});
  const auto busy = leases_.find(begin.thread_id);
  if (busy != leases_.end()) {
    AG_RETURN_IF_ERROR(CheckQueue(busy->second, begin));
  } else if (ungranted_.size() >= kWaitersMax) {
    return Status(StatusCode::kResourceExhausted, "too many runs wait for a worker");
  }
  bool created = false;
  AG_ASSIGN_OR_RETURN(
      ThreadRow thread,
      WritableThread(begin.scope,
                     {begin.thread_id, begin.user_id, begin.creation_id, begin.thread_name, micros},
                     created));
  if (begin.new_thread_only && !created) {
    return Status(StatusCode::kConflict, "a thread with this id already exists");
  }
  const keys::ThreadKey place = thread.key();
  const std::string record_key = keys::Run(place, begin.run_id);
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> same, transaction_.GetRow<RunRow>(record_key));
  if (same) return Status(StatusCode::kConflict, "the thread already has a run with this id");
  if (created) TouchThread(transaction_, begin.thread_id, thread, micros);

  AG_ASSIGN_OR_RETURN(const uint64_t order,
                      transaction_.TakeNumber(Counter::kRunOrder, kNextRunOrderName));
  transaction_.PutRow(keys::RunRequest(place, begin.run_id),
                      RunRequestRow{accept, order, database_.instance()});
  RunRow row;
  row.record.run_id = begin.run_id;
  row.record.thread_id = begin.thread_id;
  row.record.thread_number = thread.number;
  row.record.graph_hash = begin.graph_hash;
  row.record.created_micros = micros;
  row.record.accepted = true;
  transaction_.PutRow(record_key, row);
  if (accept.key) StageKey(accept, thread, micros);
  if (TrimsRecords(order)) {
    AG_ASSIGN_OR_RETURN(const std::vector<KeptRun> runs, ReadKeptRuns(place));
    TrimRecords(runs, micros);
  }
  if (busy == leases_.end()) {
    AG_RETURN_IF_ERROR(Reserve(place, begin, DeadlineOf(accept)));
    leases_.at(begin.thread_id).row.created_thread = created;
    GrantOrWait(begin.thread_id, from.client);
  }
  AG_ASSIGN_OR_RETURN(const std::optional<RunRow> accepted,
                      transaction_.GetRow<RunRow>(record_key));
  if (busy != leases_.end()) {
    Enqueue(busy->second, WaiterOf(accept));
    if (begin.interrupt_if_busy) StopHolder(begin.thread_id, /*cancel=*/true);
  }
  return AnswerOf(
      AcceptRunReply{AcceptRunReply::Outcome::kAccepted, accepted.value_or(row).record});
}

Result<ReplyRow> Store::ClaimKey(const ClaimKeyRequest& claim, int64_t micros) {
  const std::string key = keys::RunKey(claim.user, claim.key.route, claim.key.key);
  AG_ASSIGN_OR_RETURN(const std::optional<RunKeyRow> known, transaction_.GetRow<RunKeyRow>(key));
  if (known && known->expires_micros > micros) return AnswerOf(known->Record());
  RunKeyRow row;
  row.body_hash = claim.key.body_hash;
  row.expires_micros = claim.expires_micros;
  row.value = claim.value;
  PutKey(claim.user, claim.key, row);
  return AnswerOf(row.Record());
}

void Store::PutKey(const std::string& user, const RunKey& key, const RunKeyRow& row) {
  transaction_.PutRow(keys::RunKey(user, key.route, key.key), row);
  transaction_.PutUnread(keys::RunKeyExpiry(row.expires_micros, user, key.route, key.key), {});
}

void Store::ExpireKeys(MonotonicClock::time_point now) {
  if (!expires_more_keys_ && !Claims("expire idempotency keys", kKeyExpiryInterval)) {
    next_key_expiry_ = now + kKeyExpiryInterval;
    return;
  }
  const int64_t cutoff = database_.Now();
  BatchUse use;
  const std::string prefix = keys::TablePrefix(keys::Table::kRunKeyExpiry);
  (void)database_.Scan(prefix, keys::PrefixEnd(prefix),
                       [&](std::string_view key, std::string_view) {
                         keys::Parser parser(key, keys::Table::kRunKeyExpiry);
                         const auto expires = static_cast<int64_t>(parser.Integer());
                         if (expires > cutoff || use.keys.size() == kKeysExpiredAtOnce)
                           return false;
                         const std::string user = parser.Text();
                         const std::string route = parser.Text();
                         const std::string name = parser.Text();
                         transaction_.Delete(std::string(key));
                         use.keys.push_back(keys::RunKey(user, route, name));
                         return true;
                       });
  UseRows(use);
  for (const std::string& key : use.keys) {
    // The key may have been used again.
    const Result<std::optional<RunKeyRow>> row = transaction_.GetRow<RunKeyRow>(key);
    if (!row.ok() || (*row && (*row)->expires_micros <= cutoff)) transaction_.Delete(key);
  }
  transaction_.Accept(false);
  expires_more_keys_ = use.keys.size() == kKeysExpiredAtOnce;
  next_key_expiry_ =
      expires_more_keys_ ? now + std::chrono::milliseconds(50) : now + kKeyExpiryInterval;
}

}  // namespace agent_graph::state
