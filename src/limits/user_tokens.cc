#include "limits/user_tokens.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/ids.h"

namespace agent_graph::limits {
namespace {

// A hash of the tokens in each sub-window. The numbers of sub-windows depend on the window, so each
// window has a hash of its own. Returns {tokens in the window, seconds until a part of
// them leaves it}.
constexpr std::string_view kReadScript = R"lua(
local now = tonumber(redis.call('TIME')[1])
local window = tonumber(ARGV[1])
local width = tonumber(ARGV[2])
local used = 0
local oldest = nil
local counts = redis.call('HGETALL', KEYS[1])
for i = 1, #counts, 2 do
  local index = tonumber(counts[i])
  if (index + 1) * width + window <= now then
    redis.call('HDEL', KEYS[1], counts[i])
  else
    used = used + tonumber(counts[i + 1])
    if oldest == nil or index < oldest then oldest = index end
  end
end
if oldest == nil then return {0, 0} end
return {used, (oldest + 1) * width + window - now}
)lua";

constexpr std::string_view kChargeScript = R"lua(
local now = tonumber(redis.call('TIME')[1])
redis.call('HINCRBY', KEYS[1], math.floor(now / tonumber(ARGV[2])), ARGV[3])
redis.call('EXPIRE', KEYS[1], tonumber(ARGV[1]) + tonumber(ARGV[2]) + 1)
return 1
)lua";

constexpr uint32_t kWindowParts = 60;
constexpr std::chrono::milliseconds kTokenQueueTimeout{2'000};
constexpr size_t kTableAlignment = 64;

uint32_t WidthOf(const TokenLimitOptions& options) {
  return std::max<uint32_t>(1, (options.window_seconds + kWindowParts - 1) / kWindowParts);
}

Status NotChecked(const Status& reason) {
  Status status(StatusCode::kUnavailable, "the token limit cannot be checked now");
  return status.WithDetail(reason.ToString());
}

std::vector<std::string> CallOf(const TokenLimitOptions& options, std::string_view script,
                                const std::string& user_id) {
  const std::string window = std::to_string(options.window_seconds);
  return {"EVAL", std::string(script),
          "1",    options.redis_prefix + ":" + window + ":" + user_id,
          window, std::to_string(WidthOf(options))};
}

}  // namespace

Result<std::unique_ptr<UserTokens>> UserTokens::Create(const TokenLimitOptions& options,
                                                       void* shared_table,
                                                       net::RedisLink::Warn warn) {
  std::unique_ptr<UserTokens> tokens(new UserTokens(options));
  if (options.backend == TokenLimitOptions::Backend::kMemory) {
    AG_RETURN_IF_ERROR(tokens->MakeTable(shared_table));
    return tokens;
  }
  Result<net::RedisEndpoint> endpoint = net::ParseRedisUrl(options.redis_url);
  if (!endpoint.ok()) {
    return Status(StatusCode::kInvalidArgument,
                  "token_limit.redis: " + endpoint.status().message());
  }
  tokens->link_ = std::make_unique<net::RedisLink>(
      *std::move(endpoint), "the shared token limit",
      options.fail_open ? "model calls are let through" : "model calls are refused",
      std::move(warn));
  return tokens;
}

Status UserTokens::MakeTable(void* shared_table) {
  if (shared_table == nullptr) {
    const size_t bytes = TokenTable::BytesOf(TokenTable::kUsersMin);
    own_memory_.resize((bytes + kTableAlignment) / sizeof(uint64_t) + 1);
    shared_table = own_memory_.data();
    size_t room = own_memory_.size() * sizeof own_memory_[0];
    std::align(kTableAlignment, bytes, shared_table, room);
    if (!TokenTable::Format(shared_table, bytes, options_, {RandomUint64(), RandomUint64()})) {
      return Status(StatusCode::kInternal, "token_limit: the system has no lock for its table");
    }
  }
  table_ = std::make_unique<TokenTable>(shared_table);
  return Status::Ok();
}

Result<TokensUsed> UserTokens::Read(const std::string& user_id) {
  if (table_ != nullptr) return table_->Read(user_id);
  Result<net::RedisReply> reply =
      link_->Call(CallOf(options_, kReadScript, user_id), kTokenQueueTimeout);
  if (!reply.ok()) return reply.status();
  using Type = net::RedisReply::Type;
  const bool fits = reply->type == Type::kArray && reply->elements.size() == 2 &&
                    std::ranges::all_of(reply->elements, [](const net::RedisReply& element) {
                      return element.type == Type::kInteger;
                    });
  if (!fits) return Unavailable("Redis sent something else");
  return TokensUsed{
      static_cast<uint64_t>(std::max<int64_t>(reply->elements[0].integer, 0)),
      static_cast<uint32_t>(std::clamp<int64_t>(reply->elements[1].integer, 0, UINT32_MAX))};
}

Status UserTokens::Check(const std::string& user_id) {
  const Result<TokensUsed> used = Read(user_id);
  if (!used.ok()) return options_.fail_open ? Status::Ok() : NotChecked(used.status());
  if (used->tokens < options_.tokens) return Status::Ok();
  return UsedUp(std::max<uint32_t>(used->wait_seconds, 1));
}

Status UserTokens::UsedUp(uint32_t wait_seconds) const {
  return Status(StatusCode::kBudgetExceeded,
                "the user has used up the " + std::to_string(options_.tokens) + " tokens of " +
                    std::to_string(options_.window_seconds) + " seconds; try again in " +
                    std::to_string(wait_seconds) + " seconds");
}

void UserTokens::Charge(const std::string& user_id, int64_t tokens) {
  if (tokens <= 0) return;
  if (table_ != nullptr) return table_->Charge(user_id, static_cast<uint64_t>(tokens));
  std::vector<std::string> call = CallOf(options_, kChargeScript, user_id);
  call.push_back(std::to_string(tokens));
  (void)link_->Call(call, kTokenQueueTimeout);  // the link has warned
}

}  // namespace agent_graph::limits
