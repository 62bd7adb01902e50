// BaseUrl: the configured address of a provider's API, to which the paths of calls are added.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph::models {

struct BaseUrl {
  // Removes slashes at the end of the path.
  static BaseUrl Of(std::string_view text);

  // The URL of `path`. The query of the base URL, which some gateways need ("?api-version=…"),
  // comes after it, and then `added_query`.
  std::string With(std::string_view path, std::string_view added_query = {}) const;

  std::string before_query;  // "https://host/v1"
  std::string query;         // without the question mark
};

}  // namespace agent_graph::models
