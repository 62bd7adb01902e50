#include "state/thread/listing_heads.h"

#include <iterator>
#include <utility>

#include "state/thread/listing.h"

namespace agent_graph::state {
namespace {

constexpr size_t kNodeBytes = 384;  // a map node and the heads of its strings

size_t BytesOf(const ThreadRecord& record) {
  return kNodeBytes + 2 * record.thread_id.size() + record.owner.size() +
         record.creation_id.size() + record.name.size() + record.metadata_json.size() +
         record.last_run_id.size();
}

}  // namespace

bool ListingHeads::MayHold(const ListThreadsRequest& body) {
  const PageRequest& page = body.page;
  const bool no_user = body.scope.kind == Scope::Kind::kOwner && body.scope.user_id.empty();
  return !no_user && page.search.empty() && page.metadata.empty() && page.cursor.empty() &&
         page.limit > 0 && page.limit <= kReach && page.offset <= kReach - page.limit;
}

Result<ThreadPage> ListingHeads::Read(const ListThreadsRequest& body) {
  const std::string owner = body.scope.kind == Scope::Kind::kOwner ? body.scope.user_id : "";
  uint64_t reading = 0;
  {
    MutexLock lock(mutex_);
    auto head = Find(owner);
    if (head != heads_.end() && head->phase == Head::Phase::kServing) {
      if (auto page = PageOf(*head, body.page.offset, body.page.limit)) return *std::move(page);
      // Deletions have left too few rows: read the head again.
      if (!head->large) Drop(std::exchange(head, heads_.end()));
    }
    if (head == heads_.end()) reading = StartReading(owner)->reading;
  }
  const DatabaseSnapshot snapshot(database_);
  if (reading == 0) return ReadThreadPage(snapshot, body);
  uint64_t commits_seen = 0;
  {
    MutexLock lock(mutex_);
    commits_seen = commits_;
  }
  ListThreadsRequest whole_head{body.scope, {}};
  whole_head.page.limit = kRowsMax;
  Result<ThreadPage> rows = ReadThreadPage(snapshot, whole_head);
  {
    MutexLock lock(mutex_);
    auto head = Find(owner);
    if (head != heads_.end() && head->reading == reading) {
      if (rows.ok()) {
        Install(head, *rows, commits_seen);
      } else {
        Drop(head);
      }
      DropOldest();
    }
  }
  return ReadThreadPage(snapshot, body);
}

std::optional<ThreadPage> ListingHeads::PageOf(const Head& head, uint64_t offset,
                                               uint64_t limit) const {
  // One extra row shows whether there is another page.
  if (!head.whole && head.rows.size() <= offset + limit) return std::nullopt;
  ThreadPage page;
  auto row = head.rows.begin();
  for (; row != head.rows.end() && page.threads.size() < limit; ++row) {
    if (offset > 0) {
      --offset;
    } else {
      page.threads.push_back(row->second);
    }
  }
  if (!page.threads.empty() && row != head.rows.end()) {
    page.next_cursor = CursorBehind(page.threads.back());
  }
  return page;
}

ListingHeads::Heads::iterator ListingHeads::Find(const std::string& owner) {
  auto found = by_owner_.find(owner);
  if (found == by_owner_.end()) return heads_.end();
  heads_.splice(heads_.begin(), heads_, found->second);
  return found->second;
}

ListingHeads::Heads::iterator ListingHeads::StartReading(const std::string& owner) {
  Head& head = heads_.emplace_front();
  head.owner = owner;
  head.reading = ++readings_;
  head.bytes = sizeof(Head) + kNodeBytes + 2 * owner.size();
  bytes_ += head.bytes;
  by_owner_.emplace(owner, heads_.begin());
  return heads_.begin();
}

void ListingHeads::Install(Heads::iterator head, const ThreadPage& rows, uint64_t commits_seen) {
  head->whole = rows.next_cursor.empty();
  for (const ThreadRecord& record : rows.threads) {
    const size_t bytes = BytesOf(record);
    head->rows.emplace(Place{record.updated_micros, record.thread_id}, record);
    head->bytes += bytes;
    bytes_ += bytes;
  }
  // The snapshot may contain a commit that began before it and is still in progress. That commit
  // reports its changes when it ends.
  if (committing_ && commits_ <= commits_seen) {
    head->phase = Head::Phase::kAwaitingCommit;
    some_await_commit_ = true;
  } else {
    Serve(*head);
  }
}

// Applies the missed changes in order. Those that the snapshot already contains are applied again,
// which gives the same rows in the end.
void ListingHeads::Serve(Head& head) {
  head.phase = Head::Phase::kServing;
  for (const ThreadChange& change : std::exchange(head.missed, {})) {
    Erase(head, {change.listed_micros, change.thread_id});
    if (change.record) {
      Insert(head, {change.record->updated_micros, change.thread_id}, *change.record);
    }
  }
  Shrink(head);
}

void ListingHeads::CommitBegins() {
  MutexLock lock(mutex_);
  ++commits_;
  committing_ = true;
}

void ListingHeads::CommitEnds(const std::vector<ThreadChange>& changes) {
  MutexLock lock(mutex_);
  committing_ = false;
  for (const ThreadChange& change : changes) {
    const std::string everybody;
    for (const std::string* owner : {&everybody, &change.owner}) {
      auto found = by_owner_.find(*owner);
      if (found == by_owner_.end() || (owner == &change.owner && owner->empty())) continue;
      if (!Change(found->second, change)) Drop(found->second);
    }
  }
  if (std::exchange(some_await_commit_, false)) {
    for (Head& head : heads_) {
      if (head.phase == Head::Phase::kAwaitingCommit) Serve(head);
    }
  }
  DropOldest();
}

bool ListingHeads::Change(Heads::iterator head, const ThreadChange& change) {
  if (head->phase != Head::Phase::kServing) {
    head->missed.push_back(change);
    return head->missed.size() <= kMissedChangesMax;
  }
  Erase(*head, {change.listed_micros, change.thread_id});
  if (change.record) {
    Insert(*head, {change.record->updated_micros, change.thread_id}, *change.record);
  }
  Shrink(*head);
  return true;
}

void ListingHeads::Insert(Head& head, Place place, const ThreadRecord& record) {
  // Rows behind the last one are not in memory, so a row there cannot be inserted.
  if (!head.whole && (head.rows.empty() || head.rows.rbegin()->first < place)) return;
  Erase(head, place);
  const size_t bytes = BytesOf(record);
  head.rows.emplace(std::move(place), record);
  head.bytes += bytes;
  bytes_ += bytes;
}

void ListingHeads::Erase(Head& head, const Place& place) {
  auto row = head.rows.find(place);
  if (row == head.rows.end()) return;
  const size_t bytes = BytesOf(row->second);
  head.bytes -= bytes;
  bytes_ -= bytes;
  head.rows.erase(row);
}

void ListingHeads::Shrink(Head& head) {
  while (!head.rows.empty() && (head.rows.size() > kRowsMax || head.bytes > kHeadBytesMax)) {
    head.large = head.large || head.bytes > kHeadBytesMax;
    head.whole = false;
    Erase(head, Place(head.rows.rbegin()->first));
  }
}

void ListingHeads::Drop(Heads::iterator head) {
  bytes_ -= head->bytes;
  by_owner_.erase(head->owner);
  heads_.erase(head);
}

void ListingHeads::DropOldest() {
  while (bytes_ > kBytesMax) Drop(std::prev(heads_.end()));
}

}  // namespace agent_graph::state
