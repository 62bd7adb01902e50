// Store: keeps the index of threads by metadata complete. Threads are indexed when their records
// are written. Those that were written before a name was declared, or by a program without the
// index, are indexed in the background, a few at a time.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/clock.h"
#include "state/store/store.h"
#include "state/thread/metadata_index.h"

namespace agent_graph::state {
namespace {

constexpr size_t kIndexedAtOnce = 100;
constexpr std::chrono::milliseconds kIndexBreath{20};
// How often a host asks whether another one has built the index.
constexpr std::chrono::seconds kIndexClaimInterval{5};
constexpr char kIndexJob[] = "index metadata";
// How often the state records up to when the index is complete.
constexpr std::chrono::seconds kIndexRecordInterval{60};
// Clocks that are set back may give a later record an earlier time.
constexpr int64_t kClockMarginMicros = int64_t{600} * 1'000'000;

}  // namespace

Status Store::LoadMetadataIndex() {
  const std::string key = keys::Meta(kMetadataIndexName);
  const std::vector<std::string>& names = transaction_.indexed_metadata();
  AG_ASSIGN_OR_RETURN(const std::optional<MetadataIndexRow> known,
                      transaction_.GetRow<MetadataIndexRow>(key));
  if (names.empty()) {
    // Later writes are not indexed.
    if (known) transaction_.Delete(key);
    transaction_.Accept(false);
    return Status::Ok();
  }
  const bool same = known && known->names == names;
  indexing_.until_micros = same ? known->complete_micros - kClockMarginMicros : 0;
  indexing_.active = true;
  next_indexing_ = MonotonicClock::now();
  return Status::Ok();
}

// After an error the next interval tries again.
bool Store::ClaimIndex() {
  if (indexing_.claim) return true;
  const Result<std::optional<int64_t>> claim = database_.ClaimJob(kIndexJob);
  if (!claim.ok() || !*claim) return false;
  // The host that had it before may have built the index meanwhile.
  if (is_shared() && !LoadMetadataIndex().ok()) return false;
  indexing_.claim = *claim;
  return true;
}

void Store::IndexThreads(MonotonicClock::time_point now) {
  if (!indexing_.active) return RecordIndex(now);
  next_indexing_ = now + kIndexBreath;
  if (database_.low_on_space()) return;
  if (!ClaimIndex()) {
    next_indexing_ = now + kIndexClaimInterval;
    return;
  }
  const std::string listing = keys::TablePrefix(keys::Table::kListing);
  std::vector<std::string> threads;
  bool more = false;
  const Status scanned =
      database_.Scan(indexing_.from.empty() ? listing : indexing_.from, keys::PrefixEnd(listing),
                     [&](std::string_view key, std::string_view) {
                       keys::Parser parser(key, keys::Table::kListing);
                       if (parser.NewestFirst() < indexing_.until_micros) return false;
                       more = threads.size() == kIndexedAtOnce;
                       indexing_.from = key;
                       if (more) return false;
                       threads.push_back(parser.Text());
                       return true;
                     });
  UseAll(threads);
  for (const std::string& thread_id : threads) {
    const Result<std::optional<ThreadRow>> thread = FindThread(transaction_, thread_id);
    if (thread.ok() && *thread) IndexThread(transaction_, thread_id, **thread);
  }
  transaction_.Accept(false);
  if (more || !scanned.ok()) return;
  if (!database_.ReleaseJob(kIndexJob, *indexing_.claim).ok()) return;
  indexing_ = {};
  RecordIndex(now);
}

void Store::RecordIndex(MonotonicClock::time_point now) {
  next_indexing_ = now + kIndexRecordInterval;
  if (database_.low_on_space()) return;
  if (indexing_.recorded_commit == commits_) return;  // nothing has changed
  transaction_.PutRow(keys::Meta(kMetadataIndexName),
                      MetadataIndexRow{transaction_.indexed_metadata(), database_.Now()});
  transaction_.Accept(false);
  indexing_.recorded_commit = commits_ + 1;  // the commit of this row
}

}  // namespace agent_graph::state
