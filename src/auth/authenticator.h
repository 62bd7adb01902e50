// From a request's head to a user.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/jwt.h"
#include "auth/refusal.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"

namespace agent_graph::auth {

struct IncomingRequest {
  const bridge::RequestHead& head;
  const runtime::Cancellation& cancellation;
  bool websocket = false;                                      // a handshake
  const std::vector<std::string>* bearer_protocols = nullptr;  // besides service-bearer

  std::optional<std::string> Credential() const;
};

// Thread-safe.
class Authenticator {
 public:
  virtual ~Authenticator() = default;
  // Sets `user` to an object, an empty one for an anonymous request, unless it refuses. `headers`
  // go with the answer in either case.
  virtual std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                              bridge::HeaderList& headers) = 0;
};

class JwtAuthenticator : public Authenticator {
 public:
  explicit JwtAuthenticator(JwtVerifier verifier) : verifier_(std::move(verifier)) {}
  std::optional<Refusal> Authenticate(const IncomingRequest& request, json& user,
                                      bridge::HeaderList& headers) override;

 private:
  const JwtVerifier verifier_;
};

}  // namespace agent_graph::auth
