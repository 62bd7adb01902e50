#include "state/leveldb/maintenance.h"

#include <leveldb/db.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>

#include <algorithm>
#include <memory>

#include "base/hex.h"
#include "state/leveldb/memories.h"
#include "state/leveldb/numbering.h"
#include "state/leveldb/rows.h"
#include "state/leveldb/stopping.h"
#include "state/leveldb/thread_read.h"

namespace agent_graph::state {
namespace {

constexpr size_t kBatchBytes = 4 * 1024 * 1024;

std::string Readable(std::string_view key) {
  std::string text;
  for (char c : key.substr(0, 64)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text.push_back(c);
    } else {
      text += "\\x";
      AppendHex(byte, text);
    }
  }
  return text;
}

class Verifier {
 public:
  Verifier(const Database& database, const std::atomic<bool>* stopping)
      : snapshot_(database), stopping_(stopping) {}

  Result<VerifyReport> Run() {
    AG_RETURN_IF_ERROR(snapshot_.Scan({}, {}, [&](std::string_view key, std::string_view value) {
      ++report_.rows;
      numbers_.Add(key, value);
      Check(key, value);
      if (failure_.ok()) failure_ = CheckStopping(stopping_);
      return failure_.ok();
    }));
    CheckCounter(keys::Meta(kNextThreadName), numbers_.largest_thread());
    CheckCounter(keys::Meta(kNextMemoryName), numbers_.largest_memory());
    AG_RETURN_IF_ERROR(failure_);
    return std::move(report_);
  }

 private:
  void Problem(std::string_view key, const char* what) {
    if (report_.problem_count++ < VerifyReport::kProblemsMax) {
      report_.problems.push_back(Readable(key) + ": " + what);
    }
  }

  template <typename Row>
  std::optional<Row> Find(const std::string& key) {
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    if (!bytes.ok()) {
      failure_ = bytes.status();
      return std::nullopt;
    }
    Row row;
    if (!*bytes || !pack::FromBytes(**bytes, row)) return std::nullopt;
    return row;
  }
  bool Exists(const std::string& key) {
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    if (!bytes.ok()) failure_ = bytes.status();
    return bytes.ok() && *bytes;
  }

  void Check(std::string_view key, std::string_view value) {
    using keys::Table;
    const auto table = key.empty() ? Table{} : static_cast<Table>(key[0]);
    keys::Parser parser(key, table);
    switch (table) {
      case Table::kThread:
        return CheckThread(key, value, parser);
      case Table::kListingByOwner:
      case Table::kListing:
        return CheckListing(key, table, parser);
      case Table::kCounters:
        return CheckRow<CountersRow>(key, value, parser.Thread(), parser);
      case Table::kSnapshot:
        return CheckRow<Snapshot>(key, value, parser.Thread(), parser);
      case Table::kWindow:
        return CheckRow<WindowRow>(key, value, parser.Thread(), parser);
      case Table::kLease:
        return CheckRow<LeaseRow>(key, value, parser.Thread(), parser);
      case Table::kLogCut:
        return CheckRow<LogCutRow>(key, value, parser.Thread(), parser);
      case Table::kLog:
        return CheckNumbered<LogRow>(key, value, parser);
      case Table::kMessage:
        return CheckNumbered<MessageRow>(key, value, parser);
      case Table::kMemory:
        return CheckMemory(key, value, parser);
      case Table::kMemoryPlace:
        return CheckPlace(key, value);
      default:
        return;
    }
  }

  template <typename Row>
  void CheckRow(std::string_view key, std::string_view value, const keys::ThreadKey&,
                const keys::Parser& parser) {
    Row row;
    if (!parser.ok() || !parser.at_end()) return Problem(key, "the key cannot be read");
    if (!pack::FromBytes(value, row)) Problem(key, "the row cannot be read");
  }

  template <typename Row>
  void CheckNumbered(std::string_view key, std::string_view value, keys::Parser& parser) {
    const keys::ThreadKey thread = parser.Thread();
    parser.Integer();
    CheckRow<Row>(key, value, thread, parser);
  }

  void CheckThread(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string id = parser.Text();
    ThreadRow thread;
    if (!parser.ok() || !parser.at_end()) return Problem(key, "the key cannot be read");
    if (!pack::FromBytes(value, thread)) return Problem(key, "the row cannot be read");
    ++report_.threads;
    const bool listed = Exists(keys::Listing(thread.updated_micros, id)) &&
                        (thread.owner.empty() ||
                         Exists(keys::ListingByOwner(thread.owner, thread.updated_micros, id)));
    if (!listed) Problem(key, "the thread is in no listing");
  }

  void CheckListing(std::string_view key, keys::Table table, keys::Parser& parser) {
    const std::string owner = table == keys::Table::kListingByOwner ? parser.Text() : "";
    const int64_t updated = parser.NewestFirst();
    const std::string id = parser.Text();
    if (!parser.ok() || !parser.at_end()) return Problem(key, "the key cannot be read");
    const auto thread = Find<ThreadRow>(keys::Thread(id));
    const bool right = thread && thread->updated_micros == updated &&
                       (table == keys::Table::kListing || thread->owner == owner);
    if (!right) Problem(key, "a listing names a thread that is not so");
  }

  void CheckMemory(std::string_view key, std::string_view value, keys::Parser& parser) {
    const keys::MemoryKey memory = parser.Memory();
    MemoryRecord record;
    if (!parser.ok() || !parser.at_end()) return Problem(key, "the key cannot be read");
    if (!pack::FromBytes(value, record)) return Problem(key, "the row cannot be read");
    ++report_.memories;
    const auto place = Find<keys::MemoryKey>(keys::MemoryPlace(record.id));
    if (!place || !(*place == memory)) Problem(key, "the memory is not found by its id");
    if (!Exists(keys::MemoryListing(memory.number))) Problem(key, "the memory is in no listing");
  }

  void CheckPlace(std::string_view key, std::string_view value) {
    keys::MemoryKey memory;
    if (!pack::FromBytes(value, memory)) return Problem(key, "the row cannot be read");
    if (!Exists(keys::Memory(memory))) Problem(key, "an id names a memory that is not there");
  }

  void CheckCounter(const std::string& key, uint64_t largest) {
    if (!failure_.ok()) return;
    Result<std::optional<std::string>> bytes = snapshot_.Get(key);
    if (!bytes.ok()) {
      failure_ = bytes.status();
      return;
    }
    uint64_t next = 1;
    if (*bytes && !pack::FromBytes(**bytes, next)) return Problem(key, "the row cannot be read");
    if (next <= largest) Problem(key, "numbers that are in use would be given again");
  }

  const DatabaseSnapshot snapshot_;
  const std::atomic<bool>* stopping_;
  NumbersInUse numbers_;
  VerifyReport report_;
  Status failure_;
};

Status RaiseCounters(Database& database) {
  const DatabaseSnapshot snapshot(database);
  NumbersInUse numbers;
  AG_RETURN_IF_ERROR(snapshot.Scan({}, {}, [&](std::string_view key, std::string_view value) {
    numbers.Add(key, value);
    return true;
  }));
  leveldb::WriteBatch batch;
  auto raise = [&](const std::string& key, uint64_t largest) {
    AG_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, snapshot.Get(key));
    uint64_t next = 1;
    if (bytes && !pack::FromBytes(*bytes, next)) next = 1;
    batch.Put(key, pack::ToBytes(std::max(next, largest + 1)));
    return Status::Ok();
  };
  AG_RETURN_IF_ERROR(raise(keys::Meta(kNextThreadName), numbers.largest_thread()));
  AG_RETURN_IF_ERROR(raise(keys::Meta(kNextMemoryName), numbers.largest_memory()));
  return database.Write(batch, true);
}

// Makes the rows anew that can be told from others.
Status RebuildListings(Database& database) {
  leveldb::WriteBatch batch;
  const DatabaseSnapshot snapshot(database);
  using keys::Table;
  auto clear = [&](Table table) {
    const std::string prefix = keys::TablePrefix(table);
    return snapshot.Scan(prefix, keys::PrefixEnd(prefix),
                         [&](std::string_view key, std::string_view) {
                           batch.Delete({key.data(), key.size()});
                           return true;
                         });
  };
  for (Table table :
       {Table::kListing, Table::kListingByOwner, Table::kMemoryListing, Table::kMemoryPlace}) {
    AG_RETURN_IF_ERROR(clear(table));
  }
  Status written = database.Write(batch, true);
  batch.Clear();
  auto flush = [&](bool last) {
    if (!written.ok() || (!last && batch.ApproximateSize() < kBatchBytes)) return;
    written = database.Write(batch, last);
    batch.Clear();
  };
  const std::string threads = keys::TablePrefix(Table::kThread);
  AG_RETURN_IF_ERROR(snapshot.Scan(
      threads, keys::PrefixEnd(threads), [&](std::string_view key, std::string_view value) {
        keys::Parser parser(key, Table::kThread);
        const std::string id = parser.Text();
        ThreadRow thread;
        if (!parser.ok() || !pack::FromBytes(value, thread)) {
          batch.Delete({key.data(), key.size()});
          return true;
        }
        batch.Put(keys::Listing(thread.updated_micros, id), {});
        if (!thread.owner.empty()) {
          batch.Put(keys::ListingByOwner(thread.owner, thread.updated_micros, id), {});
        }
        flush(false);
        return written.ok();
      }));
  const std::string memories = keys::TablePrefix(Table::kMemory);
  AG_RETURN_IF_ERROR(snapshot.Scan(memories, keys::PrefixEnd(memories),
                                   [&](std::string_view key, std::string_view value) {
                                     keys::Parser parser(key, Table::kMemory);
                                     const keys::MemoryKey memory = parser.Memory();
                                     MemoryRecord record;
                                     if (!parser.ok() || !pack::FromBytes(value, record)) {
                                       batch.Delete({key.data(), key.size()});
                                       return true;
                                     }
                                     batch.Put(keys::MemoryPlace(record.id), pack::ToBytes(memory));
                                     batch.Put(keys::MemoryListing(memory.number), memory.owner);
                                     flush(false);
                                     return written.ok();
                                   }));
  flush(true);
  return written;
}

// LevelDB's repair believes what the log holds without a look at the checksums: half a record,
// which a power cut may leave at the end, would be taken for rows. Opening the database passes over
// such a record and keeps what is whole; that it cannot be opened is what the repair is for.
void TakeOverLog(const std::string& database_directory) {
  leveldb::Options options;
  options.paranoid_checks = false;
  leveldb::DB* database = nullptr;
  if (leveldb::DB::Open(options, database_directory, &database).ok()) delete database;
}

}  // namespace

Result<VerifyReport> Verify(const Database& database, const std::atomic<bool>* stopping) {
  return Verifier(database, stopping).Run();
}

Status Repair(const std::string& database_directory) {
  TakeOverLog(database_directory);
  const leveldb::Status repaired = leveldb::RepairDB(database_directory, leveldb::Options());
  if (!repaired.ok()) {
    return Status(StatusCode::kDataLoss, "LevelDB cannot repair the database")
        .WithDetail(repaired.ToString());
  }
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                      Database::OpenDirectory(database_directory));
  // First, while what cannot be read still tells its number.
  AG_RETURN_IF_ERROR(RaiseCounters(*database));
  return RebuildListings(*database);
}

}  // namespace agent_graph::state
