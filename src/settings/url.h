// Checks of URLs that need no network access.
#pragma once

#include <string_view>

#include "base/status.h"

namespace agent_graph::settings {

enum class UrlShape : uint8_t {
  kOrigin,  // scheme://host[:port]
  kBase,    // with a path, to which more path segments are added
  kWhole,   // complete URL, used as it is
};

// Checks that `url` is an http or https URL of this shape without blanks. Failures do not quote it.
Status CheckHttpUrl(std::string_view url, UrlShape shape);

// Checks the value of a proxy variable: host[:port], optionally after a scheme that libcurl
// supports.
Status CheckProxy(std::string_view proxy);

// True for texts that are not allowed in a URL or a host name.
bool HasBlankOrControlCharacter(std::string_view text);

}  // namespace agent_graph::settings
