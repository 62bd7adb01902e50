#include "facades/mcp/protected_resource.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_array.h"
#include "base/letter_case.h"
#include "facades/mcp/endpoint_url.h"
#include "facades/mcp/handlers.h"
#include "facades/mcp/request_headers.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kMetadataPart = "/.well-known/oauth-protected-resource";
constexpr std::string_view kChallengeHeader = "WWW-Authenticate";

bool HasTokens(const settings::Settings& settings) {
  return settings.authentication.method == settings::AuthenticationSettings::Method::kJwt;
}

std::string ScopesOf(const settings::McpSettings& mcp) {
  std::string scopes;
  for (const std::string& scope : mcp.scopes) scopes += (scopes.empty() ? "" : " ") + scope;
  return scopes;
}

// True if `text` can be a quoted string in a header as it is: nothing in it would end the string.
bool IsQuotable(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c < 127 && c != '"' && c != '\\'; });
}

void AppendList(std::string& out, const char* name, const std::vector<std::string>& list) {
  if (list.empty()) return;
  out += ",\"";
  out += name;
  out += "\":";
  AppendJsonArray(out, list, AppendJsonString);
}

}  // namespace

std::optional<api::ErrorInfo> ClosedWithoutTokens(const settings::Settings& settings) {
  if (HasTokens(settings)) return std::nullopt;
  return api::ErrorInfo{api::ApiError::kNotFound, "", {}};
}

void CompleteChallenge(const api::HandlerContext& context, int status,
                       bridge::HeaderList& headers) {
  const settings::Settings& settings = *context.api().settings;
  if ((status != 401 && status != 403) || !HasTokens(settings)) return;
  const auto is_challenge = [](const auto& row) {
    return EqualsIgnoringCase(row.first, kChallengeHeader);
  };
  auto challenge = std::ranges::find_if(headers, is_challenge);
  if (challenge == headers.end()) {
    // The guard refuses with 403 what the caller's scopes do not contain.
    const bool is_known = status == 403 && CheckOrigin(context) == std::nullopt;
    if (!is_known) return;
    headers.emplace_back(kChallengeHeader, "Bearer error=\"insufficient_scope\"");
    challenge = headers.end() - 1;
  }
  const std::string url = EndpointUrl(context) + std::string(kMetadataPart);
  if (IsQuotable(url)) challenge->second += ", resource_metadata=\"" + url + '"';
  const std::string scopes = ScopesOf(settings.facades.mcp);
  if (!scopes.empty()) challenge->second += ", scope=\"" + scopes + '"';
}

void ShowProtectedResource(api::HandlerContext& context) {
  const settings::McpSettings& mcp = context.api().settings->facades.mcp;
  std::string out = "{\"resource\":";
  AppendJsonString(out, EndpointUrl(context));
  AppendList(out, "authorization_servers", mcp.authorization_servers);
  AppendList(out, "scopes_supported", mcp.scopes);
  out += R"(,"bearer_methods_supported":["header"]})";
  std::vector<std::string> body;
  body.push_back(std::move(out));
  context.exchange().Reply(context.MakeHead(200, {{"Content-Type", "application/json"}}),
                           std::move(body), "ok");
}

}  // namespace agent_graph::mcp
