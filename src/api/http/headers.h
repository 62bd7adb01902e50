// Headers of every response, including native responses, errors and preflights. Thread-safe; the
// nginx thread calls these functions, too.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "bridge/request.h"
#include "settings/settings.h"

namespace agent_graph::api {

// Facts about a request that decide the headers of its response. The texts must live as long as the
// headers are used.
struct ResponseFacts {
  std::string_view origin;  // the request's Origin header, or empty
  std::string_view request_id;
  std::string_view timestamp;  // of the response, as from IsoTimestampNow
  bool https = false;
};

struct StandardHeader {
  std::string_view name;
  std::string_view value;
  bool is_default = false;  // left out if the response has such a header already
};

// The headers of every response: X-Request-ID, X-Timestamp, CORS headers and, if configured, the
// security headers. Names and values refer to constants and to the facts, so that nothing is
// copied or allocated.
class StandardHeaders {
 public:
  StandardHeaders(const settings::Settings& settings, const ResponseFacts& facts);

  std::span<const StandardHeader> list() const { return std::span(headers_).first(count_); }

 private:
  static constexpr size_t kMax = 13;

  void Add(std::string_view name, std::string_view value, bool is_default = false);
  bool AddAllowedOrigin(const settings::CorsSettings& cors, std::string_view origin);

  std::array<StandardHeader, kMax> headers_;
  size_t count_ = 0;
};

// Appends the additional headers of an OPTIONS preflight: methods, headers and cache time. The
// response is 204 without a body. An origin that is not allowed gets no CORS headers.
void AppendPreflightHeaders(bridge::HeaderList& headers, const settings::Settings& settings,
                            std::string_view origin, std::string_view requested_headers);

// True if a page of `origin` may call this service.
bool OriginAllowed(const settings::CorsSettings& cors, std::string_view origin);

}  // namespace agent_graph::api
