// Store: replies, and those that are kept until clients acknowledge them.
#include <utility>

#include "state/store/store.h"

namespace agent_graph::state {

void Store::Accept(const ReplyAddress& to, Operation operation, ReplyRow reply, bool sync) {
  const bool wants_sync = sync_ == SyncLevel::kAlways || (sync_ == SyncLevel::kRun && sync);
  // The reply to an operation that changed nothing need not be kept: it can be executed again.
  if (auto client = clients_.find(to.client);
      client != clients_.end() && IsAnswerStored(operation) && transaction_.has_staged()) {
    transaction_.PutUnread(ReplyKey(to.client, to.sequence), pack::ToBytes(reply));
    client->second.replies.insert_or_assign(to.sequence, reply);
  }
  transaction_.Accept(wants_sync);
  memories_.Accept();
  replies_.push_back({.to = to, .reply = std::move(reply), .before_sync = !wants_sync});
}

void Store::Refuse(const ReplyAddress& to, Status status) {
  replies_.push_back({to, std::move(status), {}});
}

bool Store::AnswerAgain(const ReplyAddress& from) {
  const ClientEntry& entry = clients_.at(from.client);
  auto kept = entry.replies.find(from.sequence);
  if (kept == entry.replies.end()) return false;
  replies_.push_back({from, Status::Ok(), kept->second});
  return true;
}

void Store::Acknowledge(const std::string& client, ClientEntry& entry, uint64_t below) {
  if (below <= entry.acknowledged_below) return;
  entry.acknowledged_below = below;
  auto end = entry.replies.lower_bound(below);
  for (auto it = entry.replies.begin(); it != end; ++it) {
    transaction_.DeleteUnread(ReplyKey(client, it->first));
  }
  entry.replies.erase(entry.replies.begin(), end);
  transaction_.Accept(false);
}

void Store::ForgetReplies(const std::string& client, ClientEntry& entry) {
  for (const auto& [sequence, reply] : entry.replies) {
    transaction_.DeleteUnread(ReplyKey(client, sequence));
  }
  entry.replies.clear();
  transaction_.Accept(false);
}

}  // namespace agent_graph::state
