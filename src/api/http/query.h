// The query string of a request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/http/fields.h"
#include "api/http/validation.h"
#include "state/types.h"

namespace agent_graph::api {

// Decodes the query string once. Immutable, therefore thread-safe.
class Query {
 public:
  explicit Query(std::string_view raw);

  // Returns the last value of `name`, decoded; nullopt if it is absent.
  std::optional<std::string_view> Find(std::string_view name) const;
  // All parameters, decoded, in their order.
  const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// Reads an integer parameter of a query; an invalid value is added to `problems`.
int64_t ReadInteger(const Query& query, const Field& field, Problems& problems);
// Returns the index of a choice; `fallback` of the field if the parameter is absent.
size_t ReadChoice(const Query& query, const Field& field, Problems& problems);

// Reads `search`, `offset`, `limit` and `cursor` of a list. A `limit` above the maximum becomes the
// maximum. Invalid values are added to `problems`.
state::PageRequest ReadPage(const Query& query, Problems& problems);

}  // namespace agent_graph::api
