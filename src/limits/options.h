// Options of a rate limit, for all backends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "limits/address.h"

namespace agent_graph::limits {

// Immutable after the settings are read.
struct RateLimitOptions {
  enum class By : uint8_t { kAddress, kUser, kGlobal };
  enum class Scope : uint8_t { kNginx, kWorker };
  enum class Backend : uint8_t { kMemory, kRedis };

  uint32_t requests = 100;  // per window
  uint32_t window_seconds = 60;
  By by = By::kAddress;
  Scope scope = Scope::kNginx;
  Backend backend = Backend::kMemory;
  std::string redis_url;  // for kRedis; never logged
  std::string redis_prefix = "svc:rate-limit";
  bool fail_open = true;                      // admit requests while Redis does not answer
  std::vector<std::string> exclude_paths;     // compared with the whole path
  bool trusted_proxy_headers = false;         // X-Forwarded-For contains the client's address
  uint32_t trusted_proxy_hops = 1;            // counted from the right
  std::vector<AddressRange> trusted_proxies;  // proxies whose header is trusted; empty: any
};

// Options of the limit on the tokens of each user. Immutable after the settings are read.
struct TokenLimitOptions {
  enum class Backend : uint8_t { kMemory, kRedis };

  uint64_t tokens = 0;  // per user and window
  uint32_t window_seconds = 3600;
  Backend backend = Backend::kMemory;
  std::string redis_url;  // for kRedis; never logged
  std::string redis_prefix = "svc:token-limit";
  bool fail_open = true;  // allow model calls while Redis does not answer
};

// Options of a limit on what is open at a time. Immutable after the settings are read.
struct PlaceLimitOptions {
  enum class Backend : uint8_t { kMemory, kRedis };

  uint32_t max = 0;  // of all workers, and with kRedis of all hosts; 0: no limit
  Backend backend = Backend::kMemory;
  std::string redis_url;  // for kRedis; never logged
  std::string redis_prefix = "svc:websockets";
};

}  // namespace agent_graph::limits
