#include "auth/authorizer.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"

namespace agent_graph::auth {
namespace {

using Policy = settings::AuthorizationSettings::Policy;

constexpr std::string_view kEveryScope = "*";

void AppendTexts(const json& value, std::vector<std::string>& out) {
  if (value.is_string()) {
    out.push_back(value.get<std::string>());
  } else if (value.is_array()) {
    for (const json& element : value) {
      if (element.is_string()) out.push_back(element.get<std::string>());
    }
  }
}

// Returns the roles in the claims `roles` and `role`, each a text or an array of texts.
std::vector<std::string> RolesOf(const json& user) {
  std::vector<std::string> roles;
  for (const char* claim : {"roles", "role"}) {
    auto found = user.find(claim);
    if (found != user.end()) AppendTexts(*found, roles);
  }
  return roles;
}

}  // namespace

std::optional<std::string> MissingScope(const Scopes& scopes, const Permission& permission) {
  if (!scopes) return std::nullopt;
  std::string name = ScopeOf(permission);
  if (std::ranges::find(*scopes, name) != scopes->end()) return std::nullopt;
  return "Missing required scope: " + name;
}

std::string NotAuthorized(const Permission& permission) {
  return "Not authorized to " + std::string(NameOf(permission.action)) + " " +
         std::string(NameOf(permission.resource));
}

Scopes ScopesOfUser(const json& user) {
  auto found = user.find("scopes");
  if (found == user.end() || !found->is_array()) return std::nullopt;
  std::vector<std::string> scopes;
  AppendTexts(*found, scopes);
  return scopes;
}

PolicyAuthorizer::PolicyAuthorizer(const settings::AuthorizationSettings& settings,
                                   OwnerLookup& owners)
    : settings_(settings), owners_(owners) {}

Decision PolicyAuthorizer::Decide(const Question& question) {
  Decision decision;
  decision.isolate_by_owner = settings_.policy == Policy::kOwnership ||
                              (settings_.policy == Policy::kRoles && settings_.isolate_by_owner);
  const bool knows_roles =
      settings_.policy != Policy::kRoles || !question.granted || !RolesOf(question.user).empty();
  decision.scopes = knows_roles ? ScopesFor(question.user) : question.granted;
  // Only roles can grant all scopes with "*". In a token, "*" is an ordinary scope name.
  bool every_scope = settings_.policy == Policy::kRoles &&
                     std::ranges::find(*decision.scopes, kEveryScope) != decision.scopes->end();
  if (!every_scope) decision.refusal = MissingScope(decision.scopes, question.permission);
  if (!decision.refusal && !MayTouch(question, decision)) {
    decision.refusal = NotAuthorized(question.permission);
  }
  return decision;
}

Scopes PolicyAuthorizer::ScopesFor(const json& user) const {
  if (settings_.policy != Policy::kRoles) return ScopesOfUser(user);
  std::vector<std::string> scopes = settings_.default_scopes;
  for (const std::string& role : RolesOf(user)) {
    auto granted = settings_.roles.find(role);
    if (granted == settings_.roles.end()) continue;
    for (const std::string& scope : granted->second) {
      if (std::ranges::find(scopes, scope) == scopes.end()) scopes.push_back(scope);
    }
  }
  return scopes;
}

bool PolicyAuthorizer::MayTouch(const Question& question, Decision& decision) {
  if (question.user_id.empty()) return false;
  if (!decision.isolate_by_owner || question.resource_id.empty() ||
      !IsThreadResource(question.permission.resource)) {
    return true;
  }
  switch (owners_.Find(question.user_id, question.resource_id)) {
    case Ownership::kRemembered:
      decision.remembered = true;
      return true;
    case Ownership::kNoThread:
      return !question.thread_must_exist;
    case Ownership::kCaller:
    case Ownership::kUnresolvable:
      return true;
    case Ownership::kForeign:
      break;
    case Ownership::kFailed:
      decision.failed = true;
      break;
  }
  return false;
}

}  // namespace agent_graph::auth
