// StoreExecutor: a database that several hosts write.
#include <utility>

#include "state/store/batch_use.h"
#include "state/store/executor.h"

namespace agent_graph::state {

Status StoreExecutor::PrepareBatch(const std::vector<WriteItem>& items) {
  BatchUse use;
  for (const WriteItem& item : items) {
    if (item.kind == WriteItem::Kind::kRequest) AddUse(item.request, use);
  }
  store_.AddAwaited(MonotonicClock::now(), use);
  const Status prepared = database_->Prepare(use);
  if (prepared.ok()) {
    store_.SyncLeases(use);
  } else {
    SetFailure(prepared);
  }
  return prepared;
}

void StoreExecutor::AwaitNextExecutor(const std::vector<WriteItem>& items) {
  // A database that is away has refused none of them.
  const StatusCode code = failure().code();
  if (code == StatusCode::kUnavailable || code == StatusCode::kFenced ||
      code == StatusCode::kCancelled) {
    return;
  }
  for (const WriteItem& item : items) {
    if (item.kind != WriteItem::Kind::kRequest) continue;
    item.request.connection->Send(
        Reply{item.request.header.sequence,
              Status(StatusCode::kUnavailable, "the state database refuses writes"),
              {}});
  }
}

std::vector<std::string> StoreExecutor::FollowedThreads() const {
  std::vector<std::string> threads = followers_.Threads();
  for (std::string& thread : watchers_.Threads()) threads.push_back(std::move(thread));
  return threads;
}

void StoreExecutor::HearHost(HostNotice notice) {
  WriteItem item;
  item.kind = WriteItem::Kind::kHostNotice;
  item.notice = std::move(notice);
  writes_.Push(std::move(item));
}

void StoreExecutor::TakeOver(std::string instance) {
  WriteItem item;
  item.kind = WriteItem::Kind::kHostGone;
  item.notice.instance = std::move(instance);
  writes_.Push(std::move(item));
}

}  // namespace agent_graph::state
