#include "state/store/deleted_ranges.h"

#include <algorithm>
#include <chrono>

namespace agent_graph::state {
namespace {

// Pauses between two tries to free space.
constexpr std::chrono::milliseconds kPauseMin{500};
constexpr std::chrono::milliseconds kPauseMax{60'000};
// After that time with space, LevelDB's own compactions suffice.
constexpr std::chrono::minutes kKeptWithSpace{1};

}  // namespace

void DeletedRanges::Add(const KeyRanges& ranges) {
  if (ranges.empty()) return;
  MutexLock lock(mutex_);
  new_.Add(ranges);
  changed_.NotifyAll();
}

bool DeletedRanges::Take(Deadline earliest, Deadline latest, KeyRanges& ranges, bool& has_new) {
  MutexLock lock(mutex_);
  while (!stopped_ && changed_.WaitUntil(mutex_, earliest)) continue;
  while (!stopped_ && new_.empty() && changed_.WaitUntil(mutex_, latest)) continue;
  has_new = !new_.empty();
  ranges.Add(new_);
  new_.Clear();
  return !stopped_;
}

void DeletedRanges::Reclaim(Database& database) {
  KeyRanges ranges;
  std::chrono::milliseconds pause = kPauseMin;
  Deadline earliest = MonotonicClock::now();
  Deadline latest = kNoDeadline;
  Deadline kept_until{};
  for (bool has_new = false; Take(earliest, latest, ranges, has_new);) {
    const bool is_low = database.low_on_space();
    if (is_low || latest == kNoDeadline) kept_until = DeadlineAfter(kKeptWithSpace);
    if (is_low) {
      for (const auto& [table, range] : ranges.by_table()) {
        if (stopped()) return;
        database.Compact(range.first, range.last);
      }
    }
    if (!is_low && MonotonicClock::now() >= kept_until) ranges.Clear();
    pause = has_new || !is_low ? kPauseMin : std::min(pause * 2, kPauseMax);
    earliest = DeadlineAfter(kPauseMin);
    latest = ranges.empty() ? kNoDeadline : DeadlineAfter(pause);
  }
}

bool DeletedRanges::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void DeletedRanges::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace agent_graph::state
