#include "base/named_durations.h"

#include "base/text.h"

namespace agent_graph {

NamedDurations::NamedDurations() : entries_(std::make_unique<Entry[]>(kNamesMax + 1)) {
  entries_[0].name = kOther;
}

NamedDurations::Entry* NamedDurations::Find(std::string_view name) const {
  const size_t count = size();
  for (size_t i = 0; i < count; ++i) {
    if (entries_[i].name == name) return &entries_[i];
  }
  return nullptr;
}

DurationHistogram& NamedDurations::Of(std::string_view name) {
  name = CutAtCharacter(name, kNameBytesMax);
  if (Entry* known = Find(name)) return known->durations;
  MutexLock lock(adding_);
  return FindOrAdd(name).durations;
}

NamedDurations::Entry& NamedDurations::FindOrAdd(std::string_view name) {
  if (Entry* known = Find(name)) return *known;
  const size_t count = size();
  if (count > kNamesMax) return entries_[0];
  entries_[count].name = name;
  size_.store(count + 1, std::memory_order_release);
  return entries_[count];
}

}  // namespace agent_graph
