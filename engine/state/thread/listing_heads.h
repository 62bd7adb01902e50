// Cache of the first rows of listings. In a large database the newest threads of a listing are
// scattered, so a page would cost one cold read per row.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "state/calls/operations.h"
#include "state/rows/database.h"
#include "state/rows/transaction.h"
#include "state/types.h"

namespace agent_graph::state {

// Thread-safe. A head is read from the database on first use and then updated by each commit. The
// least recently used heads are evicted.
class ListingHeads {
 public:
  static constexpr uint64_t kReach = 100;               // longest page, in rows, served from a head
  static constexpr uint64_t kRowsMax = 128;             // per head
  static constexpr size_t kHeadBytesMax = 1024 * 1024;  // per head
  static constexpr size_t kBytesMax = 32 * 1024 * 1024;  // all heads together
  static constexpr size_t kMissedChangesMax = 4096;      // recorded while a head is being read

  explicit ListingHeads(const Database& database) : database_(database) {}

  // True if the page may lie within the head of its listing.
  static bool MayHold(const ListThreadsRequest& body);
  // Returns the same page as ReadThreadPage.
  Result<ThreadPage> Read(const ListThreadsRequest& body);

  // Call before and after each commit: a snapshot taken in between may or may not contain it.
  void CommitBegins();
  void CommitEnds(const std::vector<ThreadChange>& changes);

 private:
  struct Place {
    int64_t updated_micros = 0;
    std::string thread_id;

    // The order of the keys in a listing.
    friend bool operator<(const Place& a, const Place& b) {
      return a.updated_micros != b.updated_micros ? a.updated_micros > b.updated_micros
                                                  : a.thread_id < b.thread_id;
    }
  };
  struct Head {
    enum class Phase : uint8_t { kReading, kAwaitingCommit, kServing };

    std::string owner;  // empty: the listing of all threads
    uint64_t reading = 0;
    Phase phase = Phase::kReading;
    std::map<Place, ThreadRecord> rows;
    size_t bytes = 0;
    bool whole = false;  // the listing has no further rows
    bool large = false;  // rows were dropped because of their size
    std::vector<ThreadChange> missed;
  };
  using Heads = std::list<Head>;  // most recently used first

  std::optional<ThreadPage> PageOf(const Head& head, uint64_t offset, uint64_t limit) const
      AG_REQUIRES(mutex_);
  Heads::iterator Find(const std::string& owner) AG_REQUIRES(mutex_);
  Heads::iterator StartReading(const std::string& owner) AG_REQUIRES(mutex_);
  void Install(Heads::iterator head, const ThreadPage& rows, uint64_t commits_seen)
      AG_REQUIRES(mutex_);
  void Serve(Head& head) AG_REQUIRES(mutex_);
  bool Change(Heads::iterator head, const ThreadChange& change) AG_REQUIRES(mutex_);
  void Insert(Head& head, Place place, const ThreadRecord& record) AG_REQUIRES(mutex_);
  void Erase(Head& head, const Place& place) AG_REQUIRES(mutex_);
  void Shrink(Head& head) AG_REQUIRES(mutex_);
  void Drop(Heads::iterator head) AG_REQUIRES(mutex_);
  void DropOldest() AG_REQUIRES(mutex_);

  const Database& database_;
  Mutex mutex_;
  Heads heads_ AG_GUARDED_BY(mutex_);
  std::unordered_map<std::string, Heads::iterator> by_owner_ AG_GUARDED_BY(mutex_);
  size_t bytes_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t readings_ AG_GUARDED_BY(mutex_) = 0;
  uint64_t commits_ AG_GUARDED_BY(mutex_) = 0;  // number of begun commits
  bool committing_ AG_GUARDED_BY(mutex_) = false;
  // A head was set to kAwaitingCommit in this commit; it may be dropped already.
  bool some_await_commit_ AG_GUARDED_BY(mutex_) = false;
};

}  // namespace agent_graph::state
