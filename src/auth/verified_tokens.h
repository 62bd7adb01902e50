// Tokens that this worker has verified: most requests come with a token that was verified before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/mutex.h"
#include "base/recent_map.h"
#include "base/sha256.h"

namespace agent_graph::auth {

inline constexpr size_t kVerifiedTokensMax = 4096;
// Larger tokens are verified each time.
inline constexpr size_t kVerifiedTokenBytesMax = 2048;

// An LRU cache of claims by the digest of the token; it stores no tokens. It belongs to one
// JwtVerifier, whose keys do not change: a verifier with other keys has a new, empty cache.
//
// Thread-safe.
class VerifiedTokens {
 public:
  explicit VerifiedTokens(size_t tokens_max = kVerifiedTokensMax) : tokens_(tokens_max) {}

  // Returns the claims of a token that is valid at `now` (seconds since 1970); null if that is not
  // known.
  std::shared_ptr<const json> Find(std::string_view token, double now);
  // `claims` are those of a token that JwtVerifier has found valid.
  void Put(std::string_view token, const json& claims);
  size_t size() const;

 private:
  struct DigestHash {
    size_t operator()(const Sha256Digest& digest) const {
      size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof(hash));
      return hash;
    }
  };
  struct Token {
    double valid_from;
    double expires;
    std::shared_ptr<const json> claims;
  };

  mutable Mutex mutex_;
  RecentMap<Sha256Digest, Token, DigestHash> tokens_ AG_GUARDED_BY(mutex_);
};

}  // namespace agent_graph::auth
