// Definitions for the SDK's auth.h that the server provides.

#include "agent_graph/auth.h"
#include "agent_graph/json.h"

namespace agent_graph {

AccountError::~AccountError() = default;
HttpError::~HttpError() = default;
AuthenticationBackend::~AuthenticationBackend() = default;
AuthorizationBackend::~AuthorizationBackend() = default;

std::string_view AuthRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

void AuthResponse::SetHeader(std::string name, std::string value) {
  headers_.emplace_back(std::move(name), std::move(value));
}

Isolation AuthorizationBackend::IsolationScope() {
  return Isolation::kOwner;
}

std::optional<std::vector<std::string>> AuthorizationBackend::ScopesFor(const json& user) {
  auto scopes = user.find("scopes");
  if (!user.is_object() || scopes == user.end() || !scopes->is_array()) return std::nullopt;
  std::vector<std::string> names;
  for (const json& scope : *scopes) {
    if (scope.is_string()) names.push_back(scope.get<std::string>());
  }
  return names;
}

void AuthorizationBackend::Evict(const std::string&) {}
void AuthorizationBackend::Close() {}

}  // namespace agent_graph
