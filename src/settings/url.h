// What can be said of an address before anything is asked there.
#pragma once

#include <string_view>

#include "base/status.h"

namespace agent_graph::settings {

enum class UrlShape : uint8_t {
  kOrigin,  // scheme://host[:port]
  kBase,    // with a path, to which more is added
  kWhole,   // taken as it is
};

// An http or https address of that shape, without blanks. Failures do not quote it.
Status CheckHttpUrl(std::string_view url, UrlShape shape);

// A proxy as its variable has it: a scheme that libcurl knows, or none, before host[:port].
Status CheckProxy(std::string_view proxy);

// True for texts that cannot stand in a URL or a host name.
bool HasBlankOrControlCharacter(std::string_view text);

}  // namespace agent_graph::settings
