// The query string of a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/validation.h"
#include "state/types.h"

namespace agent_graph::api {

class Query {
 public:
  explicit Query(std::string_view raw);

  // The last value of `name`, decoded; nothing when it is absent.
  std::optional<std::string_view> Find(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// `search`, `offset`, `limit` (above the maximum: the maximum) and `cursor` of a list.
state::PageRequest ReadPage(const Query& query, Problems& problems);

}  // namespace agent_graph::api
