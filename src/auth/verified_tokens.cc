#include "auth/verified_tokens.h"

#include <openssl/evp.h>

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

VerifiedTokens::Digest VerifiedTokens::DigestOf(std::string_view token) {
  Digest digest;
  EVP_Digest(token.data(), token.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

std::shared_ptr<const json> VerifiedTokens::Find(std::string_view token, double now) {
  if (token.size() > kVerifiedTokenBytesMax) return nullptr;
  const Digest digest = DigestOf(token);
  MutexLock lock(mutex_);
  const auto place = places_.find(digest);
  if (place == places_.end()) return nullptr;
  const auto entry = place->second;
  // The clock may have been set back.
  if (entry->expires <= now || now < entry->valid_from) {
    places_.erase(place);
    entries_.erase(entry);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, entry);
  return entry->claims;
}

void VerifiedTokens::Put(std::string_view token, const json& claims) {
  if (token.size() > kVerifiedTokenBytesMax) return;
  constexpr double kAlways = -std::numeric_limits<double>::infinity();
  const double begins =
      std::max(NumberOf(claims, "nbf", kAlways), NumberOf(claims, "iat", kAlways));
  Entry entry{DigestOf(token), begins - kClockLeewaySeconds, NumberOf(claims, "exp", kAlways),
              std::make_shared<const json>(claims)};
  MutexLock lock(mutex_);
  if (places_.contains(entry.digest)) return;
  entries_.push_front(std::move(entry));
  places_.emplace(entries_.front().digest, entries_.begin());
  if (entries_.size() <= tokens_max_) return;
  places_.erase(entries_.back().digest);
  entries_.pop_back();
}

size_t VerifiedTokens::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace agent_graph::auth
