// Keys of all rows; they are built and parsed only here.
//
// A key is a tuple: the first byte is the table, the fields follow. Text is escaped and terminated
// (0x00 → 0x00 0xff, end → 0x00 0x01), integers are big-endian. Keys therefore sort like their
// tuples, and a prefix of whole fields never matches other fields: the rows of owner "a" are never
// inside the range of owner "a\0b" or "".
//
// The id of a conversation thread leads to its record. The record contains the thread's number,
// which is never reused and leads, below the owner, to all other rows of the thread. Deleting a
// thread is therefore one small batch, and its rows can be swept later. A memory has such a number,
// too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "state/search/memory_rows.h"
#include "state/types.h"

namespace agent_graph::state::keys {

enum class Table : uint8_t {
  kMeta = 0x01,             // name
  kThread = 0x10,           // thread id → record
  kCounters = 0x11,         // owner, number
  kSnapshot = 0x12,         // owner, number
  kWindow = 0x13,           // owner, number
  kLog = 0x14,              // owner, number, index of the last entry in the row
  kMessage = 0x15,          // owner, number, sequence
  kMessageId = 0x16,        // owner, number, message id → sequence
  kLease = 0x17,            // owner, number
  kListingByOwner = 0x18,   // owner, newest first, thread id
  kListing = 0x19,          // newest first, thread id
  kDeleted = 0x1a,          // owner, number: rows to be swept
  kReply = 0x1b,            // client, operation sequence number → reply
  kLogCut = 0x1c,           // owner, number: log entries to be swept
  kPause = 0x1d,            // owner, number: open calls of a paused thread
  kWaitingCall = 0x1e,      // call id, owner, thread id → number
  kOutsideChange = 0x1f,    // owner, number: changes by others during the run in flight
  kRun = 0x20,              // owner, number, run id → record of a run
  kRunRequest = 0x21,       // owner, number, run id → request of an accepted run, until its end
  kRunKey = 0x22,           // user, route, Idempotency-Key → run or value
  kRunKeyExpiry = 0x23,     // time of expiry, user, route, Idempotency-Key
  kMetadataByOwner = 0x24,  // owner, name, value, newest first, thread id
  kMetadata = 0x25,         // name, value, newest first, thread id
  kIndexedThread = 0x26,    // owner, number → the rows of both tables above
  kRunBase = 0x28,          // owner, number: custom fields as the run in flight has loaded them
  kMemoryPlace = 0x30,      // memory id → MemoryKey
  kMemory = 0x31,           // owner, number
  kMemoryVector = 0x32,     // owner, number
  kMemoryListing = 0x33,    // number → owner
};

// Owner and number of a conversation thread: the first fields of most keys.
struct ThreadKey {
  std::string owner;
  uint64_t number = 0;

  friend bool operator==(const ThreadKey&, const ThreadKey&) = default;
};

// Builders. Each returns the key of one row, or, if named …Prefix, the prefix of a range of rows.
std::string TablePrefix(Table table);
std::string Meta(std::string_view name);
std::string Thread(std::string_view thread_id);
std::string Counters(const ThreadKey& thread);
std::string Snapshot(const ThreadKey& thread);
std::string Window(const ThreadKey& thread);
std::string LogEntry(const ThreadKey& thread, uint64_t index);
std::string Message(const ThreadKey& thread, uint64_t sequence);
std::string MessageId(const ThreadKey& thread, std::string_view message_id);
std::string Lease(const ThreadKey& thread);
std::string Deleted(const ThreadKey& thread);
std::string LogCut(const ThreadKey& thread);
std::string Pause(const ThreadKey& thread);
std::string OutsideChange(const ThreadKey& thread);
std::string RunBase(const ThreadKey& thread);
std::string Run(const ThreadKey& thread, std::string_view run_id);
std::string RunRequest(const ThreadKey& thread, std::string_view run_id);
std::string RunKey(std::string_view user, std::string_view route, std::string_view key);
std::string RunKeyExpiry(int64_t micros, std::string_view user, std::string_view route,
                         std::string_view key);
std::string WaitingCall(std::string_view call_id, std::string_view owner,
                        std::string_view thread_id);
// Prefix of all rows of one call id: of one owner, or of all owners.
std::string WaitingCallPrefix(std::string_view call_id, std::string_view owner);
std::string WaitingCallPrefix(std::string_view call_id);
std::string ListingByOwner(std::string_view owner, int64_t updated_micros,
                           std::string_view thread_id);
std::string ListingByOwnerPrefix(std::string_view owner);
std::string Listing(int64_t updated_micros, std::string_view thread_id);
std::string MetadataByOwner(std::string_view owner, const MetadataValue& value,
                            int64_t updated_micros, std::string_view thread_id);
std::string MetadataByOwnerPrefix(std::string_view owner, const MetadataValue& value);
std::string Metadata(const MetadataValue& value, int64_t updated_micros,
                     std::string_view thread_id);
std::string MetadataPrefix(const MetadataValue& value);
std::string IndexedThread(const ThreadKey& thread);
std::string Reply(std::string_view client, uint64_t sequence);
std::string ReplyPrefix(std::string_view client);

std::string MemoryPlace(std::string_view memory_id);
std::string Memory(const MemoryKey& memory);
std::string MemoryVector(const MemoryKey& memory);
std::string MemoryListing(uint64_t number);
// Prefix of one owner's memories in kMemory or kMemoryVector.
std::string MemoryPrefix(Table table, std::string_view owner);

// Prefix of one thread's rows in a table keyed by ThreadKey.
std::string ThreadPrefix(Table table, const ThreadKey& thread);

// Returns the smallest key above all keys with this prefix; empty if there is none.
std::string PrefixEnd(std::string_view prefix);

// Parses a key, field by field, in the order in which it was built. After the first mismatch ok()
// stays false.
class Parser {
 public:
  // `key` must start with the table's byte.
  Parser(std::string_view key, Table table);

  bool ok() const { return ok_; }
  bool at_end() const { return position_ == key_.size(); }
  std::string Text();
  uint64_t Integer();
  int64_t NewestFirst();  // a time written by Listing or ListingByOwner
  ThreadKey Thread();
  MemoryKey Memory();

 private:
  std::string_view key_;
  size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace agent_graph::state::keys
