// Authorizers: they decide whether a user may do what a request asks for. They check scopes first,
// then the policy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/ownership.h"
#include "auth/permission.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"
#include "settings/settings.h"

namespace agent_graph::auth {

using Scopes = std::optional<std::vector<std::string>>;  // none: unrestricted

// The request to decide about.
struct Question {
  const json& user;            // an object
  const std::string& user_id;  // empty: anonymous
  Permission permission;
  const std::string& resource_id;  // empty: the request creates or lists objects
  const bridge::RequestHead& head;
  const json* config;  // `config` of the body; null before the body was read
  const runtime::Cancellation& cancellation;
  // The scopes of an earlier decision, for a user whose roles are not known any more.
  Scopes granted = {};
  bool thread_must_exist = false;  // see GuardRequest; backends of users are not told
};

// Allowed unless `refusal` is set.
struct Decision {
  std::optional<std::string> refusal;  // error text for the client
  Scopes scopes;
  bool isolate_by_owner = true;
  bool remembered = false;  // allowed because of a cached owner
  bool failed = false;      // refused because the decision could not be made
};

// Returns "Missing required scope: graph:invoke" if `scopes` does not include it.
std::optional<std::string> MissingScope(const Scopes& scopes, const Permission& permission);
// Returns "Not authorized to invoke graph".
std::string NotAuthorized(const Permission& permission);
// Returns the texts of `scopes` of the user if it is an array.
Scopes ScopesOfUser(const json& user);

// Thread-safe. Call it on fibers: calls may suspend.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  // Decides about a request. May suspend the calling fiber.
  virtual Decision Decide(const Question& question) = 0;
  // Reports that a thread was deleted. Does not wait for the result.
  virtual void Evict(const std::string& thread_id) = 0;
  // The worker is exiting: evictions that were not sent are dropped.
  virtual void StopEvicting() {}
};

// The policies allow_all, ownership and roles.
class PolicyAuthorizer : public Authorizer {
 public:
  PolicyAuthorizer(const settings::AuthorizationSettings& settings, OwnerLookup& owners);
  Decision Decide(const Question& question) override;
  void Evict(const std::string&) override {}

 private:
  Scopes ScopesFor(const json& user) const;
  bool MayTouch(const Question& question, Decision& decision);

  const settings::AuthorizationSettings& settings_;
  OwnerLookup& owners_;
};

}  // namespace agent_graph::auth
