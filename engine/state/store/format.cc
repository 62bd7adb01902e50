#include "state/store/format.h"

#include <optional>
#include <string>

#include "state/rows/keys.h"

namespace agent_graph::state {

Status TakeFormat(Transaction& transaction) {
  const std::string key = keys::Meta(kFormatName);
  const Result<std::optional<uint64_t>> found = transaction.GetRow<uint64_t>(key);
  // If this row is damaged, open the state nevertheless: only the format's number is lost.
  if (!found.ok()) return Status::Ok();
  if (!*found) transaction.PutRow(key, kStateFormat);
  const uint64_t format = found->value_or(kStateFormat);
  if (format <= kStateFormat) return Status::Ok();
  return Status(StatusCode::kUnavailable, "a later version has written it, in format " +
                                              std::to_string(format) + "; this version knows " +
                                              std::to_string(kStateFormat));
}

}  // namespace agent_graph::state
