#include "state/rows/keys.h"

namespace agent_graph::state::keys {
namespace {

constexpr char kEscape = '\x00';
constexpr char kEscapedZero = '\xff';
constexpr char kTerminator = '\x01';

class Builder {
 public:
  explicit Builder(Table table) {
    key_.reserve(kUsualBytes);
    key_.push_back(static_cast<char>(table));
  }

  Builder& Text(std::string_view text) {
    for (size_t zero = text.find(kEscape); zero != std::string_view::npos;
         zero = text.find(kEscape)) {
      key_.append(text.substr(0, zero + 1)).push_back(kEscapedZero);
      text.remove_prefix(zero + 1);
    }
    key_.append(text).append({kEscape, kTerminator});
    return *this;
  }
  Builder& Integer(uint64_t value) {
    char bytes[sizeof value];
    for (char& byte : bytes) {
      byte = static_cast<char>(value >> 56);
      value <<= 8;
    }
    key_.append(bytes, sizeof bytes);
    return *this;
  }
  Builder& NewestFirst(int64_t micros) { return Integer(~static_cast<uint64_t>(micros)); }
  Builder& Thread(const ThreadKey& thread) { return Text(thread.owner).Integer(thread.number); }

  std::string Take() { return std::move(key_); }

 private:
  static constexpr size_t kUsualBytes = 96;  // so that most keys take one allocation

  std::string key_;
};

}  // namespace

std::string TablePrefix(Table table) {
  return Builder(table).Take();
}
std::string Meta(std::string_view name) {
  return Builder(Table::kMeta).Text(name).Take();
}
std::string Thread(std::string_view thread_id) {
  return Builder(Table::kThread).Text(thread_id).Take();
}
std::string ThreadPrefix(Table table, const ThreadKey& thread) {
  return Builder(table).Thread(thread).Take();
}
std::string Counters(const ThreadKey& thread) {
  return ThreadPrefix(Table::kCounters, thread);
}
std::string Snapshot(const ThreadKey& thread) {
  return ThreadPrefix(Table::kSnapshot, thread);
}
std::string Window(const ThreadKey& thread) {
  return ThreadPrefix(Table::kWindow, thread);
}
std::string Lease(const ThreadKey& thread) {
  return ThreadPrefix(Table::kLease, thread);
}
std::string Deleted(const ThreadKey& thread) {
  return ThreadPrefix(Table::kDeleted, thread);
}
std::string LogCut(const ThreadKey& thread) {
  return ThreadPrefix(Table::kLogCut, thread);
}
std::string Pause(const ThreadKey& thread) {
  return ThreadPrefix(Table::kPause, thread);
}
std::string OutsideChange(const ThreadKey& thread) {
  return ThreadPrefix(Table::kOutsideChange, thread);
}
std::string RunBase(const ThreadKey& thread) {
  return ThreadPrefix(Table::kRunBase, thread);
}
std::string Run(const ThreadKey& thread, std::string_view run_id) {
  return Builder(Table::kRun).Thread(thread).Text(run_id).Take();
}
std::string RunRequest(const ThreadKey& thread, std::string_view run_id) {
  return Builder(Table::kRunRequest).Thread(thread).Text(run_id).Take();
}
std::string RunKey(std::string_view user, std::string_view route, std::string_view key) {
  return Builder(Table::kRunKey).Text(user).Text(route).Text(key).Take();
}
std::string RunKeyExpiry(int64_t micros, std::string_view user, std::string_view route,
                         std::string_view key) {
  return Builder(Table::kRunKeyExpiry)
      .Integer(static_cast<uint64_t>(micros))
      .Text(user)
      .Text(route)
      .Text(key)
      .Take();
}
std::string WaitingCall(std::string_view call_id, std::string_view owner,
                        std::string_view thread_id) {
  return Builder(Table::kWaitingCall).Text(call_id).Text(owner).Text(thread_id).Take();
}
std::string WaitingCallPrefix(std::string_view call_id, std::string_view owner) {
  return Builder(Table::kWaitingCall).Text(call_id).Text(owner).Take();
}
std::string WaitingCallPrefix(std::string_view call_id) {
  return Builder(Table::kWaitingCall).Text(call_id).Take();
}
std::string LogEntry(const ThreadKey& thread, uint64_t index) {
  return Builder(Table::kLog).Thread(thread).Integer(index).Take();
}
std::string Message(const ThreadKey& thread, uint64_t sequence) {
  return Builder(Table::kMessage).Thread(thread).Integer(sequence).Take();
}
std::string MessageId(const ThreadKey& thread, std::string_view message_id) {
  return Builder(Table::kMessageId).Thread(thread).Text(message_id).Take();
}
std::string ListingByOwnerPrefix(std::string_view owner) {
  return Builder(Table::kListingByOwner).Text(owner).Take();
}
std::string ListingByOwner(std::string_view owner, int64_t updated_micros,
                           std::string_view thread_id) {
  return Builder(Table::kListingByOwner)
      .Text(owner)
      .NewestFirst(updated_micros)
      .Text(thread_id)
      .Take();
}
std::string Listing(int64_t updated_micros, std::string_view thread_id) {
  return Builder(Table::kListing).NewestFirst(updated_micros).Text(thread_id).Take();
}
std::string MetadataByOwnerPrefix(std::string_view owner, const MetadataValue& value) {
  return Builder(Table::kMetadataByOwner).Text(owner).Text(value.name).Text(value.text).Take();
}
std::string MetadataByOwner(std::string_view owner, const MetadataValue& value,
                            int64_t updated_micros, std::string_view thread_id) {
  return Builder(Table::kMetadataByOwner)
      .Text(owner)
      .Text(value.name)
      .Text(value.text)
      .NewestFirst(updated_micros)
      .Text(thread_id)
      .Take();
}
std::string MetadataPrefix(const MetadataValue& value) {
  return Builder(Table::kMetadata).Text(value.name).Text(value.text).Take();
}
std::string Metadata(const MetadataValue& value, int64_t updated_micros,
                     std::string_view thread_id) {
  return Builder(Table::kMetadata)
      .Text(value.name)
      .Text(value.text)
      .NewestFirst(updated_micros)
      .Text(thread_id)
      .Take();
}
std::string IndexedThread(const ThreadKey& thread) {
  return Builder(Table::kIndexedThread).Thread(thread).Take();
}
std::string ReplyPrefix(std::string_view client) {
  return Builder(Table::kReply).Text(client).Take();
}
std::string Reply(std::string_view client, uint64_t sequence) {
  return Builder(Table::kReply).Text(client).Integer(sequence).Take();
}

std::string MemoryPlace(std::string_view memory_id) {
  return Builder(Table::kMemoryPlace).Text(memory_id).Take();
}
std::string Memory(const MemoryKey& memory) {
  return Builder(Table::kMemory).Text(memory.owner).Integer(memory.number).Take();
}
std::string MemoryVector(const MemoryKey& memory) {
  return Builder(Table::kMemoryVector).Text(memory.owner).Integer(memory.number).Take();
}
std::string MemoryListing(uint64_t number) {
  return Builder(Table::kMemoryListing).Integer(number).Take();
}
std::string MemoryPrefix(Table table, std::string_view owner) {
  return Builder(table).Text(owner).Take();
}

std::string PrefixEnd(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xff') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

Parser::Parser(std::string_view key, Table table) : key_(key) {
  ok_ = !key.empty() && key[0] == static_cast<char>(table);
  position_ = ok_ ? 1 : 0;
}

std::string Parser::Text() {
  std::string text;
  while (ok_) {
    if (position_ >= key_.size()) break;
    char byte = key_[position_++];
    if (byte != kEscape) {
      text.push_back(byte);
      continue;
    }
    if (position_ >= key_.size()) break;
    char next = key_[position_++];
    if (next == kTerminator) return text;
    if (next != kEscapedZero) break;
    text.push_back(kEscape);
  }
  ok_ = false;
  return {};
}

uint64_t Parser::Integer() {
  if (!ok_ || key_.size() - position_ < 8) {
    ok_ = false;
    return 0;
  }
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | static_cast<uint8_t>(key_[position_++]);
  return value;
}

int64_t Parser::NewestFirst() {
  return static_cast<int64_t>(~Integer());
}

ThreadKey Parser::Thread() {
  ThreadKey thread;
  thread.owner = Text();
  thread.number = Integer();
  return thread;
}

MemoryKey Parser::Memory() {
  MemoryKey memory;
  memory.owner = Text();
  memory.number = Integer();
  return memory;
}

}  // namespace agent_graph::state::keys
