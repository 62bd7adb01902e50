#include "net/redis_link.h"

#include <utility>

namespace agent_graph::net {
RedisLink::RedisLink(RedisEndpoint endpoint, std::string name, std::string meanwhile, Warn warn)
    : timeout_(endpoint.timeout.value_or(kRedisLinkTimeout)),
      client_(std::move(endpoint)),
      name_(std::move(name)),
      meanwhile_(std::move(meanwhile)),
      warn_(std::move(warn)) {}

Result<RedisReply> RedisLink::Call(const std::vector<std::string>& arguments,
                                   std::optional<std::chrono::milliseconds> queue_timeout) {
  if (paused()) return Status(StatusCode::kUnavailable, name_ + " has failed lately");
  Result<RedisReply> reply = client_.Call(arguments, {queue_timeout.value_or(timeout_), timeout_});
  if (reply.status().code() == StatusCode::kResourceExhausted) return reply;
  if (reply.ok() && reply->type == RedisReply::Type::kError) {
    reply = Status(StatusCode::kUnavailable, reply->text);
  }
  if (reply.ok()) {
    if (failing_.exchange(false)) warn_(name_ + " answers again");
    return reply;
  }
  paused_until_ = DeadlineAfter(kRedisLinkPause).time_since_epoch().count();
  if (!failing_.exchange(true)) {
    warn_(name_ + " fails, " + meanwhile_ + ": " + reply.status().ToString());
  }
  return reply;
}

}  // namespace agent_graph::net
