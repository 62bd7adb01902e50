#include "auth/ownership.h"

#include <utility>

namespace agent_graph::auth {

OwnerLookup::OwnerLookup(ReadThread read, std::unique_ptr<SharedOwnerCache> shared, Warn warn)
    : read_(std::move(read)), shared_(std::move(shared)), warn_(std::move(warn)) {}

Ownership OwnerLookup::Find(const std::string& user_id, const std::string& thread_id) {
  if (read_ == nullptr) return Ownership::kUnresolvable;
  if (owners_.Find(thread_id) == user_id) return Ownership::kRemembered;
  if (shared_ != nullptr && shared_->Find(thread_id) == user_id) {
    owners_.Put(thread_id, user_id);
    return Ownership::kRemembered;
  }
  return Read(user_id, thread_id);
}

Ownership OwnerLookup::Read(const std::string& user_id, const std::string& thread_id) {
  if (read_ == nullptr) return Ownership::kUnresolvable;
  Result<state::ThreadRecord> thread = read_(thread_id);
  if (!thread.ok()) {
    owners_.Evict(thread_id);
    // An invalid id counts as an absent thread: the route reports it.
    if (thread.status().code() == StatusCode::kNotFound ||
        thread.status().code() == StatusCode::kInvalidArgument) {
      return Ownership::kNoThread;
    }
    warn_("the owner of a thread cannot be read: " + thread.status().ToString());
    return thread.status().code() == StatusCode::kNotConfigured ? Ownership::kUnresolvable
                                                                : Ownership::kFailed;
  }
  if (thread->owner.empty()) return Ownership::kForeign;
  owners_.Put(thread_id, thread->owner);
  if (shared_ != nullptr) shared_->Put(thread_id, thread->owner);
  return thread->owner == user_id ? Ownership::kCaller : Ownership::kForeign;
}

void OwnerLookup::Evict(const std::string& thread_id) {
  owners_.Evict(thread_id);
  if (shared_ != nullptr) shared_->Evict(thread_id);
}

}  // namespace agent_graph::auth
