#include "state/store/format.h"

#include <optional>
#include <string>

#include "state/rows/keys.h"

namespace agent_graph::state {

Status TakeFormat(Transaction& transaction) {
  const std::string key = keys::Meta(kFormatName);
  AG_ASSIGN_OR_RETURN(const std::optional<uint64_t> found, transaction.GetRow<uint64_t>(key));
  if (!found) transaction.PutRow(key, kStateFormat);
  if (found.value_or(kStateFormat) <= kStateFormat) return Status::Ok();
  return Status(StatusCode::kUnavailable, "a later version has written it, in format " +
                                              std::to_string(*found) + "; this version knows " +
                                              std::to_string(kStateFormat));
}

}  // namespace agent_graph::state
