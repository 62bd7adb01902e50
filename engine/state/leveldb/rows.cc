#include "state/leveldb/rows.h"

#include <algorithm>

namespace agent_graph::state {

ThreadRecord ThreadRow::Record(const std::string& thread_id) const {
  return {thread_id,     owner,       creation_id,    name,
          metadata_json, last_run_id, created_micros, updated_micros};
}

bool InScope(const Scope& scope, const std::string& owner) {
  if (scope.kind == Scope::Kind::kAll) return true;
  return !owner.empty() && owner == scope.user_id;
}

void TrimWindow(WindowRow& window, uint64_t items_max) {
  items_max = std::clamp<uint64_t>(items_max, 1, kWindowItemsMax);
  auto& items = window.items;
  if (items.size() <= items_max) return;
  auto cut = items.end() - static_cast<ptrdiff_t>(items_max);
  auto start = std::find_if(cut, items.end(), WindowRow::FromUser);
  if (start == items.end()) {
    auto oldest = items.size() > kWindowItemsMax
                      ? items.end() - static_cast<ptrdiff_t>(kWindowItemsMax)
                      : items.begin();
    start = cut;
    while (start != oldest && !WindowRow::FromUser(*start)) --start;
    if (!WindowRow::FromUser(*start)) start = cut;
  }
  items.erase(items.begin(), start);
}

}  // namespace agent_graph::state
