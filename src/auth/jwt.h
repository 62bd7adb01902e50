// JSON Web Tokens (RFC 7515, 7519): verified with one algorithm, which only the configuration says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/jwt_key.h"
#include "base/status.h"

namespace agent_graph::auth {

inline constexpr size_t kTokenBytesMax = 16 * 1024;
inline constexpr int64_t kKeyFileBytesMax = 1024 * 1024;
inline constexpr size_t kUserIdBytesMax = 1024;
inline constexpr double kClockLeewaySeconds = 60;  // for nbf and iat; exp has none

enum class TokenVerdict : uint8_t { kValid, kInvalid, kExpired, kUnusableKey };

struct JwtOptions {
  std::string algorithm;
  std::string secret;           // a shared secret, or a key in PEM form
  std::string public_key_file;  // a PEM file; beats the secret
  std::string jwks_file;        // a key set; beats both
  int key_descriptor = -1;      // the file in use is read through it; -1: it is opened
};

// Thread-safe, immutable.
class JwtVerifier {
 public:
  // Reads the files. Failures name the variable at fault, never what is in it.
  static Result<JwtVerifier> Create(const JwtOptions& options);
  // Answers kUnusableKey to everything: a worker that cannot read the keys that were checked.
  static JwtVerifier WithoutKeys();

  // `claims` is set for kValid: an object with a usable `user_id` and an `exp` after `now`.
  TokenVerdict Verify(std::string_view token, double now, json& claims) const;

 private:
  JwtVerifier() = default;
  bool VerifySignature(const std::string& key_id, std::string_view signed_text,
                       std::string_view signature) const;

  const JwtAlgorithm* algorithm_ = nullptr;
  std::vector<JwtKey> keys_;
};

// `user_id` of a user as text: a string of 1 to 1024 bytes or an integer. Empty for anything else.
std::string UserIdOf(const json& user);

}  // namespace agent_graph::auth
