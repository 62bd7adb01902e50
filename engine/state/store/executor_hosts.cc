// StoreExecutor: a database that several hosts write.
#include <algorithm>
#include <utility>

#include "state/store/batch_use.h"
#include "state/store/executor.h"

namespace agent_graph::state {

BatchUse StoreExecutor::UseOf(const std::vector<WriteItem>& items) {
  BatchUse use;
  for (const WriteItem& item : items) {
    if (item.kind == WriteItem::Kind::kRequest) AddUse(item.request, use);
    if (item.kind == WriteItem::Kind::kHostGone) {
      store_.AddTakenOver(item.notice.instance, item.first, use);
    }
  }
  return use;
}

Status StoreExecutor::PrepareBatch(BatchUse use) {
  store_.AddAwaited(MonotonicClock::now(), use);
  const Status prepared = database_->Prepare(use);
  if (prepared.ok()) {
    store_.SyncLeases(use);
    store_.StartHandedOver();
  } else {
    SetFailure(prepared);
  }
  return prepared;
}

bool StoreExecutor::MayBeTried(const WriteItem& item) {
  return item.kind == WriteItem::Kind::kPong ||
         (item.kind == WriteItem::Kind::kRequest && IsOfRun(item.request));
}

StoreExecutor::Trial StoreExecutor::TryBatch(std::vector<WriteItem>& items, const BatchUse& use) {
  const bool is_idle = store_.next_tick() > MonotonicClock::now();
  if (!is_idle || !std::ranges::all_of(items, MayBeTried) || !store_.CanTry(use)) {
    return Trial::kNone;
  }
  if (!database_->Assume(use)) return Trial::kNone;
  if (!store_.KnowsLeases(use)) {
    database_->Dismiss();
    return Trial::kNone;
  }
  std::vector<std::string> clients;
  clients.reserve(items.size());
  for (const WriteItem& item : items) clients.push_back(item.request.client);
  store_.BeginTrial(use, clients);
  store_.SyncLeases(use);
  for (WriteItem& item : items) ExecuteWrite(item);
  const Status committed = CommitBatch();
  store_.EndTrial(committed.ok());
  if (committed.code() == StatusCode::kConflict) return Trial::kNone;
  if (!committed.ok()) {
    SetFailure(committed);
    return Trial::kFailed;
  }
  ResumeOverdue();
  NoteExecuted(items);
  return Trial::kCommitted;
}

void StoreExecutor::AwaitNextExecutor(const std::vector<WriteItem>& items) {
  // An unreachable database has refused none of the requests.
  const StatusCode code = failure().code();
  if (code == StatusCode::kUnavailable || code == StatusCode::kFenced ||
      code == StatusCode::kCancelled) {
    return;
  }
  for (const WriteItem& item : items) {
    if (item.kind != WriteItem::Kind::kRequest) continue;
    item.request.connection->Send(RefusedWrite(item.request.header.sequence));
  }
}

std::vector<std::string> StoreExecutor::FollowedThreads() const {
  std::vector<std::string> threads = followers_.Threads();
  for (std::string& thread : watchers_.Threads()) threads.push_back(std::move(thread));
  return threads;
}

void StoreExecutor::OnHostNotice(HostNotice notice) {
  WriteItem item;
  item.kind = WriteItem::Kind::kHostNotice;
  item.notice = std::move(notice);
  writes_.Push(std::move(item));
}

void StoreExecutor::TakeOver(std::string instance, uint64_t first) {
  WriteItem item;
  item.kind = WriteItem::Kind::kHostGone;
  item.notice.instance = std::move(instance);
  item.first = first;
  writes_.Push(std::move(item));
}

}  // namespace agent_graph::state
