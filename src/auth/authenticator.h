// Authenticators: they derive the user from the head of a request.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/jwt.h"
#include "auth/refusal.h"
#include "auth/verified_tokens.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"
#include "settings/settings.h"

namespace agent_graph::auth {

// The part of a request that authentication needs.
struct IncomingRequest {
  const bridge::RequestHead& head;
  const runtime::Cancellation& cancellation;
  bool websocket = false;  // this is a WebSocket handshake
  // Names besides service-bearer; null: none.
  const std::vector<std::string>* bearer_protocols = nullptr;

  // The bearer credential of the request, or nullopt.
  std::optional<std::string> Credential() const;
};

// Thread-safe. Authenticate runs on a fiber and may suspend it.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // On success sets `user` to an object, which is empty for an anonymous request; otherwise returns
  // the refusal. Adds to `headers` in both cases; these headers go into the response.
  virtual std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                              bridge::HeaderList& headers) = 0;
};

// Authenticates by a JSON Web Token, which is verified once by a worker. Does not suspend.
class JwtAuthenticator : public Authenticator {
 public:
  explicit JwtAuthenticator(JwtVerifier verifier) : verifier_(std::move(verifier)) {}
  std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                      bridge::HeaderList& headers) override;

 private:
  TokenVerdict Verify(std::string_view token, json& user);

  const JwtVerifier verifier_;
  VerifiedTokens verified_;
};

// Takes the user over from nginx, which has authenticated it. Does not suspend.
class NginxAuthenticator : public Authenticator {
 public:
  explicit NginxAuthenticator(const settings::CorsSettings& cors) : cors_(cors) {}
  std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                      bridge::HeaderList& headers) override;

 private:
  const settings::CorsSettings& cors_;
};

}  // namespace agent_graph::auth
