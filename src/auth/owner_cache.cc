#include "auth/owner_cache.h"

#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::auth {

std::optional<std::string> OwnerCache::Find(const std::string& thread_id) {
  MutexLock lock(mutex_);
  auto place = places_.find(thread_id);
  if (place == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->owner;
}

void OwnerCache::Put(const std::string& thread_id, const std::string& owner) {
  MutexLock lock(mutex_);
  auto place = places_.find(thread_id);
  if (place != places_.end()) {
    place->second->owner = owner;
    entries_.splice(entries_.begin(), entries_, place->second);
    return;
  }
  entries_.push_front({thread_id, owner});
  places_.emplace(entries_.front().thread_id, entries_.begin());
  if (entries_.size() <= owners_max_) return;
  places_.erase(entries_.back().thread_id);
  entries_.pop_back();
}

void OwnerCache::Evict(const std::string& thread_id) {
  MutexLock lock(mutex_);
  auto place = places_.find(thread_id);
  if (place == places_.end()) return;
  Entries::iterator entry = place->second;
  places_.erase(place);
  entries_.erase(entry);
}

size_t OwnerCache::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

SharedOwnerCache::SharedOwnerCache(net::RedisEndpoint endpoint, std::string prefix,
                                   net::RedisLink::Warn warn)
    : prefix_(std::move(prefix)),
      link_(std::make_shared<net::RedisLink>(std::move(endpoint), "the shared owner cache",
                                             "owners are read from the checkpointer",
                                             std::move(warn))) {}

std::optional<std::string> SharedOwnerCache::Find(const std::string& thread_id) {
  Result<net::RedisReply> reply = link_->Call({"GET", Key(thread_id)});
  if (!reply.ok() || reply->type != net::RedisReply::Type::kText || reply->text.empty()) {
    return std::nullopt;
  }
  return std::move(reply->text);
}

void SharedOwnerCache::Put(const std::string& thread_id, const std::string& owner) {
  Send({"SET", Key(thread_id), owner});
}

void SharedOwnerCache::Evict(const std::string& thread_id) {
  Send({"DEL", Key(thread_id)});
}

void SharedOwnerCache::Send(std::vector<std::string> arguments) {
  runtime::Runtime* runtime = runtime::Runtime::Current();
  if (runtime == nullptr || link_->paused()) return;
  runtime->Spawn([link = link_, arguments = std::move(arguments)] { (void)link->Call(arguments); },
                 /*here=*/true);
}

}  // namespace agent_graph::auth
