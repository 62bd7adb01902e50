// Limits the tokens that a user may use within a window of time: in memory that all workers share,
// or in Redis, which several hosts share.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "limits/options.h"
#include "limits/token_table.h"
#include "net/redis_link.h"

namespace agent_graph::limits {

// Thread-safe. Call Check and Charge on a fiber: they suspend it while they wait for Redis.
class UserTokens {
 public:
  // `shared_table`: memory of a TokenTable; null: this process counts for itself. `options` must
  // outlive the object.
  static Result<std::unique_ptr<UserTokens>> Create(const TokenLimitOptions& options,
                                                    void* shared_table, net::RedisLink::Warn warn);

  // kBudgetExceeded: the user has used up the tokens of the window. kUnavailable: Redis does not
  // answer, and the options do not let calls through then.
  Status Check(const std::string& user_id);
  void Charge(const std::string& user_id, int64_t tokens);

 private:
  explicit UserTokens(const TokenLimitOptions& options) : options_(options) {}
  Status MakeTable(void* shared_table);
  Result<TokensUsed> Read(const std::string& user_id);
  Status UsedUp(uint32_t wait_seconds) const;

  const TokenLimitOptions& options_;
  std::vector<uint64_t> own_memory_;
  std::unique_ptr<TokenTable> table_;     // null: Redis counts
  std::unique_ptr<net::RedisLink> link_;  // null: the table counts
};

}  // namespace agent_graph::limits
