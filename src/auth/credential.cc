#include "auth/credential.h"

#include <algorithm>

#include "base/letter_case.h"
#include "base/percent_encoding.h"
#include "base/text.h"

namespace agent_graph::auth {
namespace {

constexpr std::string_view kScheme = "bearer";
constexpr std::string_view kTokenParameter = "token=";

bool IsSpace(char c) {
  return c == ' ' || c == '\t';
}

std::optional<std::string> NotEmpty(std::string_view text) {
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

std::optional<std::string> FromAuthorization(std::string_view value) {
  value = Trim(value);
  if (value.size() <= kScheme.size() || !IsSpace(value[kScheme.size()])) return std::nullopt;
  if (!StartsWithIgnoringCase(value, kScheme)) return std::nullopt;
  return NotEmpty(Trim(value.substr(kScheme.size())));
}

std::vector<std::string_view> OfferedProtocols(const bridge::RequestHead& head) {
  std::vector<std::string_view> offered;
  for (const auto& [name, value] : head.headers) {
    if (name != "sec-websocket-protocol") continue;
    for (std::string_view rest = value;;) {
      size_t comma = rest.find(',');
      offered.push_back(Trim(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return offered;
}

std::optional<std::string> FromQuery(std::string_view query) {
  for (;;) {
    size_t end = query.find('&');
    std::string_view parameter = query.substr(0, end);
    if (parameter.starts_with(kTokenParameter)) {
      // If an escape is broken the credential is invalid anyway.
      return NotEmpty(PercentDecodeLeniently(parameter.substr(kTokenParameter.size())));
    }
    if (end == std::string_view::npos) return std::nullopt;
    query.remove_prefix(end + 1);
  }
}

}  // namespace

std::optional<std::string> FindCredential(const bridge::RequestHead& head, bool websocket,
                                          const std::vector<std::string>& bearer_protocols) {
  std::optional<std::string> credential = FromAuthorization(head.Header("authorization"));
  if (credential || !websocket) return credential;
  std::vector<std::string_view> offered = OfferedProtocols(head);
  bool bearer = offered.size() == 2 && (offered[0] == kBearerProtocol ||
                                        std::ranges::count(bearer_protocols, offered[0]) > 0);
  if (bearer && !offered[1].empty()) return std::string(offered[1]);
  return FromQuery(head.query);
}

std::string HideQueryTokens(std::string_view request_line) {
  std::string shown;
  for (size_t mark = request_line.find('?'); mark != std::string_view::npos;) {
    shown += request_line.substr(0, mark + 1);
    request_line.remove_prefix(mark + 1);
    if (request_line.starts_with(kTokenParameter)) {
      shown.append(kTokenParameter).append("***");
      request_line.remove_prefix(std::min(request_line.find_first_of("& "), request_line.size()));
    }
    mark = request_line.find('&');
  }
  return shown.append(request_line);
}

}  // namespace agent_graph::auth
