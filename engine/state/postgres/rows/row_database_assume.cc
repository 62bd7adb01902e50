// RowDatabase: batches that use what this host knows of threads, and what it keeps for them.
#include <algorithm>
#include <iterator>
#include <utility>

#include "state/pack/fields.h"
#include "state/postgres/rows/cached_view.h"
#include "state/postgres/rows/row_database.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

// A wrong assumption costs a round trip, and a right one saves one.
constexpr int kTrustMax = 4;
constexpr int kTrustLost = 2;

std::string KeyAt(Table kind, const std::string& place) {
  return static_cast<char>(kind) + place;
}

keys::ThreadKey ThreadAt(const std::string& place) {
  const std::string key = KeyAt(Table::kCounters, place);
  return keys::Parser(key, Table::kCounters).Thread();
}

// True if no row has to be read for the state with which a run begins.
bool KnowsState(const CachedThread& known) {
  if (!known.Find(KeyAt(Table::kSnapshot, known.place))) return false;
  const auto stored = known.Find(KeyAt(Table::kWindow, known.place));
  WindowRow window;
  if (!stored || (*stored && !pack::FromBytes(**stored, window))) return false;
  if (window.items.empty()) return true;
  const uint64_t first = WindowRow::Sequence(window.items.front());
  return !known.messages_from.empty() &&
         known.messages_from <= keys::Message(ThreadAt(known.place), first);
}

bool CanAssume(const ThreadUse& use, const CachedThread& known) {
  const auto lease = known.Find(KeyAt(Table::kLease, known.place));
  if (!lease || (use.needs_free && *lease)) return false;
  if (use.reads_snapshot && !known.Find(KeyAt(Table::kSnapshot, known.place))) return false;
  if (use.reads_state && !KnowsState(known)) return false;
  const keys::ThreadKey thread = ThreadAt(known.place);
  return std::ranges::all_of(use.message_ids, [&](const std::string& id) {
    return std::ranges::find(use.new_message_ids, id) != use.new_message_ids.end() ||
           known.Find(keys::MessageId(thread, id));
  });
}

std::optional<std::string> PlaceOfRecord(const std::string* record) {
  ThreadRow row;
  if (record == nullptr || !pack::FromBytes(*record, row)) return std::nullopt;
  return PlaceOf(row.key());
}

}  // namespace

bool RowDatabase::Assume(const BatchUse& use) {
  if (writer_.in_transaction() || !failure_.ok()) return false;
  if (use.threads.empty() || !use.keys.empty() || !OpenSession().ok()) return false;
  for (const ThreadUse& thread : use.threads) {
    const CachedThread* const known = cache_.Find(keys::Thread(thread.thread_id));
    if (known == nullptr || !CanAssume(thread, *known)) return false;
    if (thread.needs_free && begin_trust_ < 0) return false;
  }
  Forget();
  assumes_ = true;
  for (const ThreadUse& thread : use.threads) {
    const std::string key = keys::Thread(thread.thread_id);
    auto found = assumed_.find(key);
    if (found == assumed_.end()) {
      found = assumed_.emplace(key, *cache_.Take(key)).first;
      versions_.emplace(key, found->second.version);
      assumed_places_.emplace(found->second.place, &found->second);
      locked_.insert(key);
    }
    // The constraint of the table refuses messages whose ids exist.
    const keys::ThreadKey place = ThreadAt(found->second.place);
    for (const std::string& id : thread.new_message_ids) {
      assumed_absent_.insert(keys::MessageId(place, id));
    }
    assumes_begin_ = assumes_begin_ || thread.needs_free;
  }
  return true;
}

std::optional<std::optional<std::string>> RowDatabase::Assumed(const std::string& key) const {
  if (!assumes_) return std::nullopt;
  if (const auto thread = assumed_.find(key); thread != assumed_.end()) {
    return thread->second.Find(key);
  }
  const auto thread = assumed_places_.find(std::string(PlaceIn(key)));
  if (thread == assumed_places_.end()) return std::nullopt;
  std::optional<std::optional<std::string>> known = thread->second->Find(key);
  if (!known && assumed_absent_.contains(key)) known.emplace();
  return known;
}

Command RowDatabase::HoldCommand() const {
  std::vector<std::string> threads;
  std::vector<int64_t> versions;
  for (const auto& [key, version] : versions_) {
    threads.push_back(key);
    versions.push_back(version);
  }
  std::vector<Value> values = SettingsOf(writer_.options());
  values.insert(values.end(),
                {Value::Uuid(identity_.instance), Value::Number(identity_.incarnation),
                 Value::BytesArray(threads), Value::BigintArray(versions)});
  return {
      std::string("SELECT ") + kTransactionSettings + ", agent_graph.hold_threads($5, $6, $7, $8)",
      std::move(values)};
}

bool RowDatabase::IsRefuted() const {
  const FailureKind failure = writer_.failure().kind;
  return assumes_ && (MayBeRepeated(failure) || failure == FailureKind::kOutdated ||
                      failure == FailureKind::kConstraint);
}

Status RowDatabase::EndFailedBatch() {
  if (!is_refuted_) return failure_;
  if (writer_.in_transaction()) writer_.Rollback();
  if (assumes_begin_) NoteBegin(false);
  Forget();
  notices_.clear();
  is_refuted_ = false;
  failure_ = Status::Ok();
  return {StatusCode::kConflict, "another host has changed the threads"};
}

void RowDatabase::NoteBegin(bool as_left) {
  begin_trust_ = as_left ? std::min(begin_trust_ + 1, kTrustMax)
                         : std::max(begin_trust_ - kTrustLost, -kTrustMax);
}

std::map<std::string, std::string> RowDatabase::PlacesOf(const SqlRowBatch& batch) const {
  std::map<std::string, std::string> places;
  const auto latest = batch.Latest();
  const auto add = [&places](const std::string* record, const std::string& thread) {
    if (std::optional<std::string> place = PlaceOfRecord(record)) {
      places.emplace(*std::move(place), thread);
    }
  };
  for (const auto& [thread, version] : versions_) {
    if (const auto assumed = assumed_.find(thread); assumed != assumed_.end()) {
      places.emplace(assumed->second.place, thread);
    }
    add(reads_.Find(thread), thread);
    const auto change = latest.find(thread);
    if (change != latest.end() && *change->second) add(&**change->second, thread);
  }
  return places;
}

std::set<std::string> RowDatabase::ChangedThreads(const SqlRowBatch& batch) const {
  std::set<std::string> changed;
  if (versions_.empty()) return changed;
  const std::map<std::string, std::string> places = PlacesOf(batch);
  for (const auto& [key, value] : batch.Latest()) {
    if (const auto thread = versions_.find(std::string(key)); thread != versions_.end()) {
      changed.insert(thread->first);
    } else if (const auto place = places.find(std::string(PlaceIn(key))); place != places.end()) {
      changed.insert(place->second);
    }
  }
  return changed;
}

std::vector<std::string> RowDatabase::UncountedThreads(const SqlRowBatch& batch,
                                                       const std::set<std::string>& changed) const {
  if (changed.empty()) return {};
  std::set<std::string> uncounted = changed;
  const auto latest = batch.Latest();
  for (const auto& [place, thread] : PlacesOf(batch)) {
    const auto lease = latest.find(KeyAt(Table::kLease, place));
    if (lease != latest.end() && *lease->second) uncounted.erase(thread);
  }
  return {uncounted.begin(), uncounted.end()};
}

// Older rows of the thread are kept if no other host has changed it since.
CachedThread RowDatabase::TakeCached(const std::string& thread, int64_t version,
                                     const std::string& place) {
  std::optional<CachedThread> known;
  if (const auto assumed = assumed_.find(thread); assumed != assumed_.end()) {
    known = std::move(assumed->second);
  } else {
    known = cache_.Take(thread);
  }
  if (known && known->version == version && known->place == place) return *std::move(known);
  CachedThread fresh;
  fresh.version = version;
  fresh.place = place;
  if (fresh_.contains(ThreadAt(place).number)) {
    // It has no rows but those of this batch.
    fresh.messages_from = KeyAt(Table::kMessage, place);
    for (const Table kind : HeadKinds()) fresh.Know(KeyAt(kind, place), std::nullopt);
    for (const Table kind : {Table::kSnapshot, Table::kLease, Table::kRunBase}) {
      fresh.Know(KeyAt(kind, place), std::nullopt);
    }
  }
  return fresh;
}

void RowDatabase::Remember(const SqlRowBatch& batch, const std::set<std::string>& changed) {
  const auto latest = batch.Latest();
  // Threads that do not exist any more have no lease row to lock.
  for (const std::string& key : locked_) {
    if (!versions_.contains(key)) cache_.Erase(key);
  }
  std::map<std::string, CachedThread> threads;  // by place
  std::map<std::string, std::string> keys;      // keys of their records, by place
  for (const auto& [thread, version] : versions_) {
    const auto change = latest.find(thread);
    const auto assumed = assumed_.find(thread);
    std::optional<std::string> place;
    if (change != latest.end()) {
      place = PlaceOfRecord(*change->second ? &**change->second : nullptr);
    } else if (assumed != assumed_.end()) {
      place = assumed->second.place;
    } else {
      place = PlaceOfRecord(reads_.Find(thread));
    }
    if (!place) {
      cache_.Erase(thread);
      continue;
    }
    CachedThread known = TakeCached(thread, version, *place);
    const auto first = messages_.find(thread);
    if (known.messages_from.empty() && first != messages_.end()) {
      known.messages_from = first->second;
    }
    keys.emplace(*place, thread);
    threads.emplace(*place, std::move(known));
  }
  const auto know = [&](std::string_view key, std::optional<std::string_view> value) {
    const auto thread = threads.find(std::string(PlaceIn(key)));
    if (thread != threads.end()) thread->second.Know(key, value);
  };
  for (const auto& [key, value] : reads_.known()) know(key, value);
  for (const auto& [key, value] : latest) know(key, *value);
  for (auto& [place, known] : threads) {
    const std::string& thread = keys.at(place);
    const auto change = latest.find(thread);
    if (change != latest.end()) {
      known.Know(thread, *change->second);
    } else if (const std::string* record = reads_.Find(thread)) {
      known.Know(thread, *record);
    }
    if (changed.contains(thread)) ++known.version;
    known.Trim(ThreadCache::kThreadBytesMax);
    cache_.Put(thread, std::move(known));
  }
  if (assumes_begin_) NoteBegin(true);
}

std::unique_ptr<DatabaseView> RowDatabase::TakeThreadView(const std::string& thread_id) {
  const CachedThread* const known = cache_.Find(keys::Thread(thread_id));
  if (known == nullptr || !KnowsState(*known)) return nullptr;
  return std::make_unique<CachedView>(*known, pool_);
}

}  // namespace agent_graph::state::postgres
