#include "state/leveldb/rows.h"

#include <algorithm>

#include "state/limits.h"

namespace agent_graph::state {
namespace {

// Maximum number of calls per thread that can be looked up by their id; further ones cannot.
constexpr size_t kWaitingCallsMax = 128;

}  // namespace

ThreadRecord ThreadRow::Record(const std::string& thread_id) const {
  return {thread_id,     owner,       creation_id,    name,
          metadata_json, last_run_id, created_micros, updated_micros};
}

std::vector<std::string> IdsOf(const std::vector<OpenCall>& calls) {
  std::vector<std::string> ids;
  ids.reserve(calls.size());
  for (const OpenCall& call : calls) ids.push_back(call.id);
  return ids;
}

std::vector<std::string> WaitingCallIds(const std::vector<OpenCall>& calls) {
  std::vector<std::string> ids;
  for (const OpenCall& call : calls) {
    const bool usable = call.remote && !call.id.empty() && call.id.size() <= kIdBytesMax;
    const bool known = std::find(ids.begin(), ids.end(), call.id) != ids.end();
    if (usable && !known && ids.size() < kWaitingCallsMax) ids.push_back(call.id);
  }
  return ids;
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
