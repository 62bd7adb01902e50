#include "state/verify/faults.h"

#include <algorithm>
#include <vector>

#include "state/rows/rows.h"
#include "state/rules/pause.h"
#include "state/verify/look_ahead.h"
#include "state/verify/thread_faults.h"

namespace agent_graph::state {
namespace {

using keys::Table;

bool IsIndex(Table table) {
  return table == Table::kListing || table == Table::kListingByOwner ||
         table == Table::kMemoryPlace || table == Table::kMemoryListing ||
         table == Table::kWaitingCall || table == Table::kMetadata ||
         table == Table::kMetadataByOwner;
}

void CheckCounter(Examination& examination, const std::string& key, uint64_t largest) {
  const uint64_t next = examination.Find<uint64_t>(key).value_or(1);
  if (next > largest) return;
  examination.Wrong(key, "the counter would assign numbers that are in use",
                    pack::ToBytes(largest + 1));
}

void CheckNumbers(Examination& examination) {
  CheckCounter(examination, keys::Meta(kNextThreadName), examination.numbers.largest_thread());
  CheckCounter(examination, keys::Meta(kNextMemoryName), examination.numbers.largest_memory());
}

class RecordFaults {
 public:
  explicit RecordFaults(Examination& examination) : examination_(examination) {}

  void Run() {
    // Index rows first: a wrong one must be removed before the correct one is added.
    ForTables([](Table table) { return IsIndex(table); });
    ForTables([](Table table) { return !IsIndex(table) && !IsBelowThread(table); });
    FindThreadFaults(examination_);
  }

 private:
  template <typename Wanted>
  void ForTables(const Wanted& wanted) {
    for (unsigned first = 0; first < 256; ++first) {
      const auto table = static_cast<Table>(first);
      if (!wanted(table)) continue;
      const std::string prefix = first == 0 ? "" : keys::TablePrefix(table);
      UnseenRows unseen;
      examination_.Note(
          examination_.snapshot().Scan(prefix, keys::PrefixEnd(keys::TablePrefix(table)),
                                       [&](std::string_view key, std::string_view value) {
                                         unseen.Add(table, key, value);
                                         return !unseen.is_full() || CheckAll(unseen);
                                       }));
      CheckAll(unseen);
    }
  }

  // Returns false to end the pass.
  bool CheckAll(UnseenRows& unseen) {
    for (const UnseenRow& row : unseen.Take(examination_)) {
      Check(row.table, row.key, row.value);
      if (!examination_.See(row.key, row.value)) return false;
    }
    return examination_.status().ok();
  }

  void Check(Table table, std::string_view key, std::string_view value) {
    keys::Parser parser(key, table);
    switch (table) {
      case Table::kMeta:
        return CheckMeta(key, value, parser);
      case Table::kThread:
        return CheckThread(key, value, parser);
      case Table::kListingByOwner:
      case Table::kListing:
        return CheckListing(table, key, parser);
      case Table::kMetadata:
      case Table::kMetadataByOwner:
        return CheckMetadata(table, key, parser);
      case Table::kWaitingCall:
        return CheckWaitingCall(key, value, parser);
      case Table::kReply:
        parser.Text();
        parser.Integer();
        examination_.Read<ReplyRow>(key, value, parser);
        return;
      case Table::kMemory:
        return CheckMemory(key, value, parser);
      case Table::kMemoryPlace:
        return CheckPlace(key, value, parser);
      case Table::kMemoryVector:
        return CheckVector(key, value, parser);
      case Table::kMemoryListing:
        return CheckMemoryListing(key, value, parser);
      default:
        return;
    }
  }

  void CheckMeta(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string name = parser.Text();
    if (name == kRemoteToolsName) examination_.Read<RemoteTools>(key, value, parser);
    if (name == kNextThreadName || name == kNextMemoryName)
      examination_.Read<uint64_t>(key, value, parser);
  }

  // True if the thread is marked as deleted. The deletion removed its record in the same batch, so
  // a record that exists again (after LevelDB's repair) does not count.
  bool IsDeleted(const ThreadRow& thread) {
    return examination_.Exists(keys::Deleted(thread.key()));
  }

  void CheckThread(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string id = parser.Text();
    const auto thread = examination_.Read<ThreadRow>(key, value, parser);
    if (!thread) return;
    if (IsDeleted(*thread)) return examination_.Wrong(key, "the thread was deleted");
    ++examination_.seen.threads;
    examination_.threads.Add(thread->number);
    RequireListing(keys::Listing(thread->updated_micros, id));
    RequireWaitingCalls(*thread, id);
    if (thread->owner.empty()) return;
    RequireListing(keys::ListingByOwner(thread->owner, thread->updated_micros, id));
  }
  void RequireListing(const std::string& key) {
    if (!examination_.Exists(key)) examination_.Wrong(key, "a listing lacks a thread", "");
  }

  void RequireWaitingCalls(const ThreadRow& thread, const std::string& id) {
    const auto pause = examination_.Find<PauseRow>(keys::Pause(thread.key()));
    for (const std::string& call_id : WaitingCallIds(pause.value_or(PauseRow()).calls)) {
      const std::string key = keys::WaitingCall(call_id, thread.owner, id);
      if (examination_.Find<uint64_t>(key) == thread.number) continue;
      examination_.Wrong(key, "a call does not lead to the thread that waits for it",
                         pack::ToBytes(thread.number));
    }
  }

  void CheckWaitingCall(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string call_id = parser.Text();
    const std::string owner = parser.Text();
    const std::string id = parser.Text();
    const auto number = examination_.Read<uint64_t>(key, value, parser);
    if (!number) return;
    const auto thread = examination_.Find<ThreadRow>(keys::Thread(id));
    const bool led = thread && thread->owner == owner && thread->number == *number;
    const auto pause = led ? examination_.Find<PauseRow>(keys::Pause(thread->key())) : std::nullopt;
    const std::vector<std::string> waiting = WaitingCallIds(pause.value_or(PauseRow()).calls);
    if (std::find(waiting.begin(), waiting.end(), call_id) == waiting.end()) {
      examination_.Wrong(key, "a call leads to a thread that does not wait for it");
    }
  }

  void CheckListing(Table table, std::string_view key, keys::Parser& parser) {
    const std::string owner = table == Table::kListingByOwner ? parser.Text() : "";
    const int64_t updated = parser.NewestFirst();
    const std::string id = parser.Text();
    if (!parser.ok() || !parser.at_end()) return examination_.Wrong(key, Examination::kBadKey);
    const auto thread = examination_.Find<ThreadRow>(keys::Thread(id));
    const bool right = thread && thread->updated_micros == updated &&
                       (table == Table::kListing || thread->owner == owner) && !IsDeleted(*thread);
    if (!right) examination_.Wrong(key, "a listing differs from the thread that it names");
  }

  // A build without this index may have changed or deleted the thread and left the row.
  void CheckMetadata(Table table, std::string_view key, keys::Parser& parser) {
    const std::string owner = table == Table::kMetadataByOwner ? parser.Text() : "";
    MetadataValue value{parser.Text(), {}};
    value.text = parser.Text();
    const int64_t updated = parser.NewestFirst();
    const std::string id = parser.Text();
    if (!parser.ok() || !parser.at_end()) return examination_.Wrong(key, Examination::kBadKey);
    const auto thread = examination_.Find<ThreadRow>(keys::Thread(id));
    const auto indexed =
        thread ? examination_.Find<IndexedThreadRow>(keys::IndexedThread(thread->key()))
               : std::nullopt;
    const bool right = indexed && indexed->updated_micros == updated &&
                       std::ranges::find(indexed->values, value) != indexed->values.end() &&
                       (table == Table::kMetadata || thread->owner == owner);
    if (!right) examination_.Wrong(key, "the metadata index differs from the thread that it names");
  }

  // True if it points to a memory with that id.
  bool IsPlaceOf(const MemoryKey& place, const std::string& id) {
    const auto record = examination_.Find<MemoryRecord>(keys::Memory(place));
    return record && record->id == id;
  }

  void CheckMemory(std::string_view key, std::string_view value, keys::Parser& parser) {
    const MemoryKey memory = parser.Memory();
    const auto record = examination_.Read<MemoryRecord>(key, value, parser);
    if (!record) return;
    ++examination_.seen.memories;
    const std::string place_key = keys::MemoryPlace(record->id);
    const auto place = examination_.Find<MemoryKey>(place_key);
    if (!place || (*place != memory && !IsPlaceOf(*place, record->id))) {
      examination_.Wrong(place_key, "the memory is not found by its id", pack::ToBytes(memory));
    }
    const std::string listing = keys::MemoryListing(memory.number);
    if (!IsListed(listing, memory)) {
      examination_.Wrong(listing, "the memory is in no listing", memory.owner);
    }
  }
  bool IsListed(const std::string& listing, const MemoryKey& memory) {
    return examination_.Bytes(listing) == memory.owner;
  }

  void CheckPlace(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string id = parser.Text();
    const auto place = examination_.Read<MemoryKey>(key, value, parser);
    if (place && !IsPlaceOf(*place, id)) {
      examination_.Wrong(key, "an id names a memory that is not there");
    }
  }

  void CheckVector(std::string_view key, std::string_view value, keys::Parser& parser) {
    const MemoryKey memory = parser.Memory();
    if (!examination_.Read<Embedding>(key, value, parser)) return;
    if (!examination_.Find<MemoryRecord>(keys::Memory(memory))) {
      examination_.Wrong(key, "a vector is of a memory that is not there");
    }
  }

  void CheckMemoryListing(std::string_view key, std::string_view value, keys::Parser& parser) {
    const uint64_t number = parser.Integer();
    if (!parser.ok() || !parser.at_end()) return examination_.Wrong(key, Examination::kBadKey);
    if (!examination_.Find<MemoryRecord>(keys::Memory({std::string(value), number}))) {
      examination_.Wrong(key, "a listing names a memory that is not there");
    }
  }

  Examination& examination_;
};

}  // namespace

Result<RowsSeen> FindFaults(const DatabaseSnapshot& snapshot, const std::atomic<bool>* stopping,
                            const FaultUse& use) {
  Examination examination(snapshot, stopping, use);
  RecordFaults(examination).Run();
  CheckNumbers(examination);
  AG_RETURN_IF_ERROR(examination.status());
  return examination.seen;
}

Status FindNumberFaults(const DatabaseSnapshot& snapshot, const FaultUse& use) {
  Examination examination(snapshot, nullptr, use);
  examination.Note(snapshot.Scan({}, {}, [&](std::string_view key, std::string_view value) {
    return examination.See(key, value);
  }));
  CheckNumbers(examination);
  return examination.status();
}

}  // namespace agent_graph::state
