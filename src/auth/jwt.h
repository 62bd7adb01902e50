// JSON Web Tokens (RFC 7515, 7519). Tokens are verified with one algorithm, which comes from the
// configuration and never from the token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/jwt_key.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::auth {

inline constexpr size_t kTokenBytesMax = 16 * 1024;
inline constexpr int64_t kKeyFileBytesMax = 1024 * 1024;
inline constexpr size_t kUserIdBytesMax = 1024;
inline constexpr double kClockLeewaySeconds = 60;  // for nbf and iat; exp has none

enum class TokenVerdict : uint8_t { kValid, kInvalid, kExpired, kUnusableKey };

// Thread-safe and immutable.
class JwtVerifier {
 public:
  // Reads the keys. Failures name the variable at fault, never its content.
  static Result<JwtVerifier> Create(const settings::JwtSettings& settings);
  // Returns kUnusableKey for every token. Used by a worker that cannot read the keys.
  static JwtVerifier WithoutKeys();

  // Verifies a token. `now` in seconds since 1970. Sets `claims` for kValid: an object with a
  // usable `user_id` and an `exp` later than `now`.
  TokenVerdict Verify(std::string_view token, double now, json& claims) const;

 private:
  JwtVerifier() = default;
  bool VerifySignature(const std::string& key_id, std::string_view signed_text,
                       std::string_view signature) const;

  const JwtAlgorithm* algorithm_ = nullptr;
  std::vector<JwtKey> keys_;
};

// Returns `user_id` of a user as text: a string of 1 to 1024 bytes, or an integer. Empty for
// anything else.
std::string UserIdOf(const json& user);

}  // namespace agent_graph::auth
