#include "limits/shared_places.h"

#include <string_view>
#include <utility>

#include "base/ids.h"
#include "runtime/runtime.h"

namespace agent_graph::limits {
namespace {

// Stores "<places> <end> <takes>" for each worker, in a hash: the number of its places, when the
// row expires, and how many places the worker had asked for when it counted them.
//
// With a limit (ARGV[4] > 0) the worker takes a place: returns 0 and changes nothing if all workers
// together would have more places than the limit. The stored number never decreases here, because
// another fiber of the worker may have taken a place meanwhile. Without a limit (ARGV[4] = 0) the
// worker reports its places. A report that is executed after a later take (ARGV[5] is lower than
// the stored number) does not decrease the number either.
constexpr std::string_view kPlacesScript = R"lua(
local now = tonumber(redis.call('TIME')[1])
local rows = redis.call('HGETALL', KEYS[1])
local wanted = tonumber(ARGV[2])
local limit = tonumber(ARGV[4])
local takes = tonumber(ARGV[5])
local others = 0
for i = 1, #rows, 2 do
  local places, ends, before = string.match(rows[i + 1], '^(%d+) (%d+) (%d+)$')
  if tonumber(ends) <= now then
    redis.call('HDEL', KEYS[1], rows[i])
  elseif rows[i] ~= ARGV[1] then
    others = others + tonumber(places)
  elseif limit > 0 or takes < tonumber(before) then
    wanted = math.max(wanted, tonumber(places))
    takes = math.max(takes, tonumber(before))
  end
end
if limit > 0 and others + tonumber(ARGV[2]) > limit then return 0 end
if wanted == 0 then
  redis.call('HDEL', KEYS[1], ARGV[1])
else
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%d %d %d', wanted, now + tonumber(ARGV[3]), takes))
  redis.call('EXPIRE', KEYS[1], ARGV[3])
end
return 1
)lua";

constexpr std::chrono::seconds kReportInterval{1};
// Maximum wait of a handshake for Redis when many arrive at once.
constexpr std::chrono::milliseconds kHandshakeWait{2'000};

}  // namespace

Result<std::unique_ptr<SharedPlaces>> SharedPlaces::Create(const PlaceLimitOptions& options,
                                                           net::RedisLink::Warn warn) {
  if (options.max == 0 || options.backend != PlaceLimitOptions::Backend::kRedis) {
    return std::unique_ptr<SharedPlaces>();
  }
  Result<net::RedisEndpoint> endpoint = net::ParseRedisUrl(options.redis_url);
  if (!endpoint.ok()) {
    return Status(StatusCode::kInvalidArgument, "websocket.redis: " + endpoint.status().message());
  }
  return std::unique_ptr<SharedPlaces>(
      new SharedPlaces(options, *std::move(endpoint), std::move(warn)));
}

SharedPlaces::SharedPlaces(const PlaceLimitOptions& options, net::RedisEndpoint endpoint,
                           net::RedisLink::Warn warn)
    : options_(options),
      worker_(NewUuid()),
      link_(std::move(endpoint), "the total of WebSockets", "each host counts for itself",
            std::move(warn)) {}

void SharedPlaces::Start(runtime::Runtime& runtime) {
  runtime.Spawn([this] {
    do {
      (void)link_.Call(ReportCommand());
    } while (runtime::SleepFor(kReportInterval, &closed_).ok());
  });
}

void SharedPlaces::Close() {
  closed_.Cancel(runtime::CancelReason::kShutdown);
}

bool SharedPlaces::Take() {
  const uint64_t wanted = ++taken_;
  const Result<net::RedisReply> reply =
      link_.Call(Command(wanted, options_.max, ++takes_), kHandshakeWait);
  // A crowd of handshakes that waits for its turn at Redis must not find the limit open.
  const bool is_crowded = reply.status().code() == StatusCode::kResourceExhausted;
  const bool refused = is_crowded || (reply.ok() && reply->integer == 0 &&
                                      reply->type == net::RedisReply::Type::kInteger);
  if (refused) Release();
  return !refused;
}

std::vector<std::string> SharedPlaces::Command(uint64_t places, uint64_t limit,
                                               uint64_t takes) const {
  return {"EVAL",
          std::string(kPlacesScript),
          "1",
          options_.redis_prefix,
          worker_,
          std::to_string(places),
          std::to_string(kLifetime.count()),
          std::to_string(limit),
          std::to_string(takes)};
}

std::vector<std::string> SharedPlaces::ReportCommand() const {
  // Read before taken_, so that taken_ contains the places of all these takes.
  const uint64_t takes = takes_;
  return Command(taken_, 0, takes);
}

}  // namespace agent_graph::limits
