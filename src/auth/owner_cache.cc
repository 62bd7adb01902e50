#include "auth/owner_cache.h"

#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::auth {
namespace {

// In seconds. Deletion removes a thread's key, expiry does not: without a lifetime such keys would
// fill Redis, and limits that are counted there would fail.
constexpr char kLifetime[] = "86400";

}  // namespace

std::optional<std::string> OwnerCache::Find(const std::string& thread_id) {
  MutexLock lock(mutex_);
  const std::string* const owner = owners_.Find(thread_id);
  return owner != nullptr ? std::optional(*owner) : std::nullopt;
}

void OwnerCache::Put(const std::string& thread_id, const std::string& owner) {
  MutexLock lock(mutex_);
  owners_.Put(thread_id, owner);
}

void OwnerCache::Evict(const std::string& thread_id) {
  MutexLock lock(mutex_);
  owners_.Erase(thread_id);
}

size_t OwnerCache::size() const {
  MutexLock lock(mutex_);
  return owners_.size();
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
  Send({"SET", Key(thread_id), owner, "EX", kLifetime});
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
