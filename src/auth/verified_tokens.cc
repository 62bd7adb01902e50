#include "auth/verified_tokens.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agent_graph/json.h"
#include "auth/jwt.h"

namespace agent_graph::auth {
namespace {

double NumberOf(const json& claims, const char* name, double missing) {
  const auto claim = claims.find(name);
  return claim != claims.end() && claim->is_number() ? claim->get<double>() : missing;
}

}  // namespace

std::shared_ptr<const json> VerifiedTokens::Find(std::string_view token, double now) {
  if (token.size() > kVerifiedTokenBytesMax) return nullptr;
  const Sha256Digest digest = Sha256(token);
  MutexLock lock(mutex_);
  const Token* const known = tokens_.Find(digest);
  if (known == nullptr) return nullptr;
  // The clock may have been set back.
  if (known->expires <= now || now < known->valid_from) {
    tokens_.Erase(digest);
    return nullptr;
  }
  return known->claims;
}

void VerifiedTokens::Put(std::string_view token, const json& claims) {
  if (token.size() > kVerifiedTokenBytesMax) return;
  constexpr double kAlways = -std::numeric_limits<double>::infinity();
  const double begins =
      std::max(NumberOf(claims, "nbf", kAlways), NumberOf(claims, "iat", kAlways));
  Token verified{begins - kClockLeewaySeconds, NumberOf(claims, "exp", kAlways),
                 std::make_shared<const json>(claims)};
  MutexLock lock(mutex_);
  tokens_.Put(Sha256(token), std::move(verified));
}

size_t VerifiedTokens::size() const {
  MutexLock lock(mutex_);
  return tokens_.size();
}

}  // namespace agent_graph::auth
