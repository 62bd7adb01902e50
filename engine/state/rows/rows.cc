#include "state/rows/rows.h"

#include "state/rules/window.h"

namespace agent_graph::state {
ThreadRecord ThreadRow::Record(const std::string& thread_id) const {
  return {thread_id,     owner,       creation_id,    name,
          metadata_json, last_run_id, created_micros, updated_micros};
}

void TrimWindow(WindowRow& window, uint64_t items_max) {
  auto& items = window.items;
  const size_t first = FirstKeptItem(
      items.size(), items_max, [&items](size_t item) { return WindowRow::FromUser(items[item]); });
  items.erase(items.begin(), items.begin() + static_cast<ptrdiff_t>(first));
}

}  // namespace agent_graph::state
