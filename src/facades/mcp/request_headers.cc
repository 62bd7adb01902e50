#include "facades/mcp/request_headers.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/base64.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "settings/settings.h"

namespace agent_graph::mcp {
namespace {

constexpr std::string_view kMethodHeader = "mcp-method";
constexpr std::string_view kNameHeader = "mcp-name";
constexpr std::string_view kEncodedBegin = "=?base64?";
constexpr std::string_view kEncodedEnd = "?=";

// The host of "http://host:port".
std::string_view HostOf(std::string_view origin) {
  const size_t scheme = origin.find("://");
  if (scheme == std::string_view::npos) return {};
  std::string_view host = origin.substr(scheme + 3);
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  return host.substr(0, host.find(':'));
}

// A page of the user's own machine, such as an inspector.
bool IsLoopback(std::string_view origin) {
  static constexpr std::array<std::string_view, 3> kHosts = {"localhost", "127.0.0.1", "[::1]"};
  return std::ranges::find(kHosts, LowerCase(HostOf(origin))) != kHosts.end();
}

bool IsOwn(const api::HandlerContext& context, std::string_view origin) {
  const std::string& url = context.api().settings->facades.mcp.url;
  if (!url.empty()) {
    const size_t path = url.find('/', url.find("://") + 3);
    if (EqualsIgnoringCase(origin, std::string_view(url).substr(0, path))) return true;
  }
  // With https the browser has checked that the server has the name. Otherwise the name may be one
  // that an attacker lets point to this server.
  const std::string host(context.head().Header("host"));
  return context.head().https && !host.empty() && EqualsIgnoringCase(origin, "https://" + host);
}

// Values with other characters than visible ASCII are sent encoded.
std::optional<std::string> Decoded(std::string_view value) {
  value = Trim(value);
  const bool encoded = StartsWithIgnoringCase(value, kEncodedBegin) &&
                       value.ends_with(kEncodedEnd) &&
                       value.size() >= kEncodedBegin.size() + kEncodedEnd.size();
  if (!encoded) return std::string(value);
  value.remove_prefix(kEncodedBegin.size());
  value.remove_suffix(kEncodedEnd.size());
  return DecodeBase64(value);
}

bool Has(const bridge::RequestHead& head, std::string_view name) {
  return std::ranges::any_of(head.headers, [&](const auto& row) { return row.first == name; });
}

RpcError Mismatch(std::string_view header, bool there) {
  return {kHeaderMismatch,
          "the header " + std::string(header) + (there ? " differs from the body" : " is required"),
          400};
}

// Returns the member of the parameters that Mcp-Name repeats; null: none.
const char* NamedBy(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : nullptr;
}

}  // namespace

std::optional<api::ErrorInfo> CheckOrigin(const api::HandlerContext& context) {
  const std::string_view origin = context.head().Header("origin");
  if (origin.empty() || IsLoopback(origin) || IsOwn(context, origin)) return std::nullopt;
  const std::vector<std::string>& listed = context.api().settings->cors.origins;
  if (std::ranges::find(listed, origin) != listed.end()) return std::nullopt;
  return api::ErrorInfo{api::ApiError::kPermissionDenied,
                        "pages of this origin must not use this server; cors.origins lists those "
                        "that may",
                        {}};
}

std::optional<api::ErrorInfo> CheckContentType(const api::HandlerContext& context) {
  std::string_view type = context.head().Header("content-type");
  type = Trim(type.substr(0, type.find(';')));
  if (EqualsIgnoringCase(type, "application/json")) return std::nullopt;
  return api::ErrorInfo{
      api::ApiError::kUnsupportedMediaType, "Content-Type: must be application/json", {}};
}

std::optional<RpcError> CheckHeaders(const bridge::RequestHead& head, const RpcMessage& message,
                                     std::string_view revision) {
  const std::string_view stated = Trim(head.Header(kRevisionHeader));
  if (stated != revision) return Mismatch("MCP-Protocol-Version", !stated.empty());
  if (Trim(head.Header(kMethodHeader)) != message.method) {
    return Mismatch("Mcp-Method", Has(head, kMethodHeader));
  }
  const char* member = NamedBy(message.method);
  const std::string* name = member != nullptr ? TextMember(message.params, member) : nullptr;
  if (name == nullptr) return std::nullopt;  // the method refuses the parameters
  if (!Has(head, kNameHeader)) return Mismatch("Mcp-Name", false);
  if (Decoded(head.Header(kNameHeader)) != *name) return Mismatch("Mcp-Name", true);
  return std::nullopt;
}

bool TakesEvents(const bridge::RequestHead& head) {
  return std::ranges::any_of(head.headers, [](const auto& row) {
    return row.first == "accept" && ContainsIgnoringCase(row.second, "text/event-stream");
  });
}

}  // namespace agent_graph::mcp
