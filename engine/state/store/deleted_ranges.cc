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

void DeletedRanges::Add(Range range) {
  MutexLock lock(mutex_);
  Widen(new_, std::move(range));
  changed_.NotifyAll();
}

void DeletedRanges::Widen(Ranges& ranges, Range range) {
  const char table = range.first[0];
  const auto [place, is_new] = ranges.try_emplace(table, range);
  if (is_new) return;
  Range& known = place->second;
  known.first = std::min(known.first, range.first);
  known.second = std::max(known.second, range.second);
}

bool DeletedRanges::Take(Deadline earliest, Deadline latest, Ranges& ranges, bool& has_new) {
  MutexLock lock(mutex_);
  while (!stopped_ && changed_.WaitUntil(mutex_, earliest)) continue;
  while (!stopped_ && new_.empty() && changed_.WaitUntil(mutex_, latest)) continue;
  has_new = !new_.empty();
  for (auto& [table, range] : new_) Widen(ranges, std::move(range));
  new_.clear();
  return !stopped_;
}

void DeletedRanges::Reclaim(Database& database) {
  Ranges ranges;
  std::chrono::milliseconds pause = kPauseMin;
  Deadline earliest = MonotonicClock::now();
  Deadline latest = kNoDeadline;
  Deadline kept_until{};
  for (bool has_new = false; Take(earliest, latest, ranges, has_new);) {
    const bool is_low = database.low_on_space();
    if (is_low || latest == kNoDeadline) kept_until = DeadlineAfter(kKeptWithSpace);
    if (is_low) {
      for (const auto& [table, range] : ranges) {
        if (stopped()) return;
        database.Compact(range.first, range.second);
      }
    }
    if (!is_low && MonotonicClock::now() >= kept_until) ranges.clear();
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
