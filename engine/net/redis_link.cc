#include "net/redis_link.h"

#include <utility>

#include "runtime/runtime.h"

namespace agent_graph::net {
namespace {

// An engine thread has few connections, each busy for one round trip.
constexpr std::chrono::milliseconds kBusyPoll{1};

}  // namespace

RedisLink::RedisLink(RedisEndpoint endpoint, std::string name, std::string meanwhile, Warn warn)
    : client_(std::move(endpoint)),
      name_(std::move(name)),
      meanwhile_(std::move(meanwhile)),
      warn_(std::move(warn)) {}

std::optional<RedisReply> RedisLink::Call(const std::vector<std::string>& arguments) {
  if (paused()) return std::nullopt;
  Result<RedisReply> reply = CallWhenFree(arguments);
  if (reply.ok() && reply->type != RedisReply::Type::kError) {
    if (failing_.exchange(false)) warn_(name_ + " answers again");
    return *std::move(reply);
  }
  // A crowd of callers is no fault of the server's.
  if (reply.status().code() == StatusCode::kResourceExhausted) return std::nullopt;
  paused_until_ = DeadlineAfter(kRedisLinkPause).time_since_epoch().count();
  if (!failing_.exchange(true)) {
    warn_(name_ + " fails, " + meanwhile_ + ": " +
          (reply.ok() ? reply->text : reply.status().ToString()));
  }
  return std::nullopt;
}

Result<RedisReply> RedisLink::CallWhenFree(const std::vector<std::string>& arguments) {
  const Deadline deadline = DeadlineAfter(kRedisLinkTimeout);
  for (;;) {
    Result<RedisReply> reply = client_.Call(arguments, deadline);
    bool busy = reply.status().code() == StatusCode::kResourceExhausted;
    if (!busy || MonotonicClock::now() + kBusyPoll >= deadline) return reply;
    (void)runtime::SleepFor(kBusyPoll, nullptr);
  }
}

}  // namespace agent_graph::net
