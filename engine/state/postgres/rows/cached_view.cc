#include "state/postgres/rows/cached_view.h"

#include "state/rows/keys.h"

namespace agent_graph::state::postgres {

const RowView& CachedView::rest() const {
  if (rest_ == nullptr) rest_ = std::make_unique<RowView>(pool_);
  return *rest_;
}

Result<std::optional<std::string>> CachedView::Get(const std::string& key) const {
  if (std::optional<std::optional<std::string>> known = thread_.Find(key)) {
    return *std::move(known);
  }
  return rest().Get(key);
}

Status CachedView::Scan(const std::string& begin, const std::string& end, const RowUse& row) const {
  const std::string& from = thread_.messages_from;
  const std::string messages = static_cast<char>(keys::Table::kMessage) + thread_.place;
  const bool is_known = !from.empty() && begin >= from && begin.starts_with(messages) &&
                        !end.empty() && end <= keys::PrefixEnd(messages);
  if (!is_known) return rest().Scan(begin, end, row);
  for (auto next = thread_.rows.lower_bound(begin); next != thread_.rows.end() && next->first < end;
       ++next) {
    if (next->second && !row(next->first, *next->second)) break;
  }
  return Status::Ok();
}

}  // namespace agent_graph::state::postgres
