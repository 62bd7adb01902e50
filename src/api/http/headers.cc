#include "api/http/headers.h"

#include "base/clock.h"

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
constexpr size_t kStandardHeadersMax = 13;

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

// Appends the CORS headers that responses and preflights share. Returns false if the origin is not
// allowed.
bool AppendAllowedOrigin(bridge::HeaderList& headers, const settings::CorsSettings& cors,
                         std::string_view origin) {
  // Credentials are allowed for listed origins only; the settings refuse them together with "*".
  if (AnyOrigin(cors)) {
    headers.emplace_back("Access-Control-Allow-Origin", "*");
    return true;
  }
  if (cors.origins.empty()) return false;
  headers.emplace_back("Vary", "Origin");
  if (origin.empty() || !OriginAllowed(cors, origin)) return false;
  headers.emplace_back("Access-Control-Allow-Origin", origin);
  if (cors.credentials) headers.emplace_back("Access-Control-Allow-Credentials", "true");
  return true;
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

// Appends the header unless the response already has it.
void AppendDefault(bridge::HeaderList& headers, std::string_view name, std::string_view value) {
  for (const auto& [key, own] : headers) {
    if (key == name) return;
  }
  headers.emplace_back(name, value);
}

}  // namespace

bool OriginAllowed(const settings::CorsSettings& cors, std::string_view origin) {
  for (const std::string& allowed : cors.origins) {
    if (allowed == "*" || allowed == origin) return true;
  }
  return false;
}

void AppendStandardHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                           std::string_view origin, std::string_view request_id, bool https) {
  headers.reserve(headers.size() + kStandardHeadersMax);
  headers.emplace_back("X-Request-ID", request_id);
  headers.emplace_back("X-Timestamp", IsoTimestampNow());
  if (AppendAllowedOrigin(headers, settings.cors, origin)) {
    headers.emplace_back("Access-Control-Expose-Headers", kExposedHeaders);
  }
  if (!settings.security_headers) return;
  AppendDefault(headers, "X-Content-Type-Options", "nosniff");
  headers.emplace_back("X-Frame-Options", "DENY");
  headers.emplace_back("X-XSS-Protection", "1; mode=block");
  headers.emplace_back("Referrer-Policy", "strict-origin-when-cross-origin");
  AppendDefault(headers, "Permissions-Policy", kPermissionsPolicy);
  AppendDefault(headers, "Content-Security-Policy", kContentSecurityPolicy);
  if (https) {
    headers.emplace_back("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  }
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
