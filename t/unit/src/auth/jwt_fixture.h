// Claims and verifiers for tests of JSON Web Tokens.
#pragma once

#include <gtest/gtest.h>

#include "auth/jwt.h"
#include "tokens.h"

namespace agent_graph::auth {

inline constexpr char kSecret[] = "0123456789abcdef0123456789abcdef";
inline constexpr double kNow = 1'700'000'000;

inline json Claims(const json& changes = json::object()) {
  json claims = {{"user_id", "alice"}, {"exp", kNow + 100}, {"team", "a"}};
  claims.update(changes);
  return claims;
}

inline JwtVerifier Verifier(const std::string& algorithm, const std::string& secret) {
  settings::JwtSettings options;
  options.algorithm = algorithm;
  options.secret = secret;
  Result<JwtVerifier> verifier = JwtVerifier::Create(options);
  EXPECT_TRUE(verifier.ok()) << verifier.status().ToString();
  return std::move(verifier).value();
}

inline TokenVerdict Verify(const JwtVerifier& verifier, const std::string& token) {
  json claims;
  return verifier.Verify(token, kNow, claims);
}

inline Status Refused(const std::string& algorithm, const std::string& secret) {
  settings::JwtSettings options;
  options.algorithm = algorithm;
  options.secret = secret;
  return JwtVerifier::Create(options).status();
}

}  // namespace agent_graph::auth
