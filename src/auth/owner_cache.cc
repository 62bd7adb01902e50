#include "auth/owner_cache.h"

#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::auth {

std::optional<std::string> OwnerCache::Find(const std::string& thread_id) {
  std::lock_guard lock(mutex_);
  auto place = places_.find(thread_id);
  if (place == places_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, place->second);
  return place->second->owner;
}

void OwnerCache::Put(const std::string& thread_id, const std::string& owner) {
  std::lock_guard lock(mutex_);
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
  std::lock_guard lock(mutex_);
  auto place = places_.find(thread_id);
  if (place == places_.end()) return;
  Entries::iterator entry = place->second;
  places_.erase(place);
  entries_.erase(entry);
}

size_t OwnerCache::size() const {
  std::lock_guard lock(mutex_);
  return entries_.size();
}

SharedOwnerCache::SharedOwnerCache(net::RedisEndpoint endpoint, std::string prefix, Warn warn)
    : prefix_(std::move(prefix)),
      link_(std::make_shared<Link>(std::move(endpoint), std::move(warn))) {}

std::optional<std::string> SharedOwnerCache::Find(const std::string& thread_id) {
  std::optional<net::RedisReply> reply = link_->Call({"GET", Key(thread_id)});
  if (!reply || reply->type != net::RedisReply::Type::kText || reply->text.empty()) {
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
  runtime->Spawn([link = link_, arguments = std::move(arguments)] { link->Call(arguments); },
                 /*here=*/true);
}

std::optional<net::RedisReply> SharedOwnerCache::Link::Call(
    const std::vector<std::string>& arguments) {
  if (paused()) return std::nullopt;
  Result<net::RedisReply> reply = client.Call(arguments, DeadlineAfter(kSharedOwnerTimeout));
  if (reply.ok() && reply->type != net::RedisReply::Type::kError) {
    if (failing.exchange(false)) warn("the shared owner cache answers again");
    return *std::move(reply);
  }
  paused_until = DeadlineAfter(kSharedOwnerPause).time_since_epoch().count();
  if (!failing.exchange(true)) {
    warn("the shared owner cache fails, owners are read from the checkpointer: " +
         (reply.ok() ? reply->text : reply.status().ToString()));
  }
  return std::nullopt;
}

}  // namespace agent_graph::auth
