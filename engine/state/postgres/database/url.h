// The connection URL of a PostgreSQL database, and texts about it that hold no secret.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace agent_graph::state::postgres {

// A parsed `postgresql://user:password@host:port/database?parameter=value`.
struct ConnectionUrl {
  std::vector<std::pair<std::string, std::string>> parameters;  // as libpq names them
  std::string password;                                         // empty: none in the URL

  // The value of a parameter, or an empty text.
  std::string_view Find(std::string_view name) const;
  // Replaces the password in a text from libpq or from the server.
  std::string Redact(std::string text) const;
};

// True if the text begins as such a URL.
bool IsConnectionUrl(std::string_view text);

// kInvalidArgument: the text is no such URL; the message has no part of it that may be secret.
// kNotConfigured: libpq is missing.
Result<ConnectionUrl> ParseConnectionUrl(const std::string& url);

}  // namespace agent_graph::state::postgres
