#include "auth/authenticator.h"

#include "agent_graph/json.h"
#include "auth/credential.h"
#include "base/clock.h"

namespace agent_graph::auth {
namespace {

constexpr char kChallenge[] = "Bearer realm=\"agent-graph\"";

}  // namespace

std::optional<std::string> IncomingRequest::Credential() const {
  const std::vector<std::string> none;
  return FindCredential(head, websocket, bearer_protocols == nullptr ? none : *bearer_protocols);
}

TokenVerdict JwtAuthenticator::Verify(std::string_view token, json& user) {
  const double now = UnixSeconds();
  if (const std::shared_ptr<const json> known = verified_.Find(token, now)) {
    user = *known;
    return TokenVerdict::kValid;
  }
  const TokenVerdict verdict = verifier_.Verify(token, now, user);
  if (verdict == TokenVerdict::kValid) verified_.Put(token, user);
  return verdict;
}

std::optional<Refusal> JwtAuthenticator::Authenticate(const IncomingRequest& request, json& user,
                                                      bridge::HeaderList& headers) {
  std::optional<std::string> token = request.Credential();
  if (!token) {
    headers.emplace_back("WWW-Authenticate", kChallenge);
    return Refusal{Refusal::Kind::kNoCredential};
  }
  Refusal refusal;
  switch (Verify(*token, user)) {
    case TokenVerdict::kValid:
      return std::nullopt;
    case TokenVerdict::kExpired:
      refusal.kind = Refusal::Kind::kExpiredToken;
      break;
    case TokenVerdict::kInvalid:
      refusal.kind = Refusal::Kind::kInvalidToken;
      break;
    case TokenVerdict::kUnusableKey:
      return Refusal{Refusal::Kind::kUnusableKey};
  }
  headers.emplace_back("WWW-Authenticate", std::string(kChallenge) + ", error=\"invalid_token\"");
  return refusal;
}

}  // namespace agent_graph::auth
