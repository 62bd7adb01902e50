#include "models/base_url.h"

namespace agent_graph::models {

BaseUrl BaseUrl::Of(std::string_view text) {
  BaseUrl url;
  const size_t query = text.find('?');
  url.before_query = text.substr(0, query);
  while (url.before_query.ends_with('/')) url.before_query.pop_back();
  if (query != std::string_view::npos) url.query = text.substr(query + 1);
  return url;
}

std::string BaseUrl::With(std::string_view path, std::string_view added_query) const {
  std::string url = before_query;
  url += path;
  for (const std::string_view part : {std::string_view(query), added_query}) {
    if (part.empty()) continue;
    url += url.find('?') == std::string::npos ? '?' : '&';
    url += part;
  }
  return url;
}

}  // namespace agent_graph::models
