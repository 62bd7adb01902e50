// May this user do that? Scopes first, then the policy.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "auth/ownership.h"
#include "bridge/request.h"
#include "runtime/cancellation.h"
#include "settings/settings.h"

namespace agent_graph::auth {

// What a route asks for, as the route table names it.
struct Permission {
  std::string_view resource;  // "checkpointer"
  std::string_view action;    // "read"
};

struct Question {
  const json& user;            // an object
  const std::string& user_id;  // empty: nobody
  Permission permission;
  const std::string& resource_id;  // empty: makes or lists objects
  const bridge::RequestHead& head;
  const json* config;  // what the body said; null before it was read
  const runtime::Cancellation& cancellation;
};

using Scopes = std::optional<std::vector<std::string>>;  // none: unrestricted

struct Decision {
  std::optional<std::string> refusal;  // the text for the client
  Scopes scopes;
  bool isolate_by_owner = true;
  bool remembered = false;  // allowed because a cache said so
};

// "Missing required scope: graph:invoke" when `scopes` lack it.
std::optional<std::string> MissingScope(const Scopes& scopes, const Permission& permission);
// "Not authorized to invoke graph"
std::string NotAuthorized(const Permission& permission);
// `scopes` of the user when it is an array; its texts.
Scopes ScopesOfUser(const json& user);

// Thread-safe; on fibers.
class Authorizer {
 public:
  virtual ~Authorizer() = default;
  virtual Decision Decide(const Question& question) = 0;
  // A thread was deleted. Sent, not awaited.
  virtual void Evict(const std::string& thread_id) = 0;
  // The worker leaves: what was not sent yet is not sent any more.
  virtual void StopEvicting() {}
};

// allow_all, ownership and roles.
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
