#include "api/http/headers.h"

namespace agent_graph::api {
namespace {

constexpr std::string_view kExposedHeaders =
    "X-Request-ID, X-Timestamp, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, "
    "X-RateLimit-Reset, X-RateLimit-Reset-After, Content-Disposition, ETag, Content-Range, "
    "Location, X-Thread-Id, "
    "Accept-Ranges, WWW-Authenticate, Mcp-Session-Id";
constexpr std::string_view kAllowedMethods = "GET, HEAD, POST, PUT, DELETE, OPTIONS";
constexpr std::string_view kAllowedHeaders =
    "Authorization, Content-Type, Accept, X-Request-ID, Idempotency-Key, Last-Event-ID, "
    "X-Thread-Id, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name";
constexpr std::string_view kPreflightSeconds = "600";
constexpr size_t kRequestedHeadersBytesMax = 2048;

constexpr std::string_view kPermissionsPolicy =
    "geolocation=(), microphone=(), camera=(), payment=(), usb=(), magnetometer=(), "
    "gyroscope=(), accelerometer=()";
// The documentation pages use inline styles and images from other secure origins.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: https:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'";

bool AnyOrigin(const settings::CorsSettings& cors) {
  for (const std::string& allowed : cors.origins) {
    if (allowed == "*") return true;
  }
  return false;
}

// True for a list of header names without characters that could end a header line.
bool IsHeaderNameList(std::string_view text) {
  if (text.empty() || text.size() > kRequestedHeadersBytesMax) return false;
  for (char c : text) {
    bool name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!name && c != '-' && c != '_' && c != ',' && c != ' ') return false;
  }
  return true;
}

}  // namespace

bool OriginAllowed(const settings::CorsSettings& cors, std::string_view origin) {
  for (const std::string& allowed : cors.origins) {
    if (allowed == "*" || allowed == origin) return true;
  }
  return false;
}

StandardHeaders::StandardHeaders(const settings::Settings& settings, const ResponseFacts& facts) {
  Add("X-Request-ID", facts.request_id);
  Add("X-Timestamp", facts.timestamp);
  if (AddAllowedOrigin(settings.cors, facts.origin)) {
    Add("Access-Control-Expose-Headers", kExposedHeaders);
  }
  if (!settings.security_headers) return;
  Add("X-Content-Type-Options", "nosniff", /*is_default=*/true);
  Add("X-Frame-Options", "DENY");
  Add("X-XSS-Protection", "1; mode=block");
  Add("Referrer-Policy", "strict-origin-when-cross-origin");
  Add("Permissions-Policy", kPermissionsPolicy, /*is_default=*/true);
  Add("Content-Security-Policy", kContentSecurityPolicy, /*is_default=*/true);
  if (facts.https) {
    Add("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  }
}

void StandardHeaders::Add(std::string_view name, std::string_view value, bool is_default) {
  headers_.at(count_++) = {name, value, is_default};
}

// Adds the CORS headers that responses and preflights share. Returns false if the origin is not
// allowed.
bool StandardHeaders::AddAllowedOrigin(const settings::CorsSettings& cors,
                                       std::string_view origin) {
  // Credentials are allowed for listed origins only; the settings refuse them together with "*".
  if (AnyOrigin(cors)) {
    Add("Access-Control-Allow-Origin", "*");
    return true;
  }
  if (cors.origins.empty()) return false;
  Add("Vary", "Origin");
  if (origin.empty() || !OriginAllowed(cors, origin)) return false;
  Add("Access-Control-Allow-Origin", origin);
  if (cors.credentials) Add("Access-Control-Allow-Credentials", "true");
  return true;
}

void AppendPreflightHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                            std::string_view origin, std::string_view requested_headers) {
  if (!OriginAllowed(settings.cors, origin)) return;
  headers.emplace_back("Access-Control-Allow-Methods", kAllowedMethods);
  headers.emplace_back("Access-Control-Allow-Headers",
                       IsHeaderNameList(requested_headers) ? requested_headers : kAllowedHeaders);
  headers.emplace_back("Access-Control-Max-Age", kPreflightSeconds);
}

}  // namespace agent_graph::api
