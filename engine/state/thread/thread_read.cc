#include "state/thread/thread_read.h"

#include <algorithm>
#include <utility>

#include "state/limits.h"
#include "state/rules/scope.h"
#include "state/thread/message_read.h"

namespace agent_graph::state {
namespace {

// Checks that a thread's state fits into one reply: the window, the run's fields together with
// those set meanwhile, the metadata, the summary, the interrupt and a rest.
constexpr size_t kRestBytesMax = 2 * kInterruptBytesMax + 2 * 1024 * 1024;
static_assert(kWindowBytesMax + kFieldsBytesMax + 2 * kThreadJsonBytesMax + kSummaryBytesMax +
                  kRestBytesMax <=
              kReplyBytesMax);

// A window with more gaps per message than this is read row by row.
constexpr uint64_t kScanSpanPerItem = 4;

// Messages that are read, as long as they are not too large.
class MessageList {
 public:
  explicit MessageList(size_t bytes_max) : bytes_max_(bytes_max) {}

  Status Add(std::string_view value, uint64_t sequence) {
    AG_ASSIGN_OR_RETURN(StoredMessage message, ToMessage(value, sequence));
    bytes_ += message.json.size();
    if (bytes_ > bytes_max_) return Status(StatusCode::kResourceExhausted, "large messages");
    messages_.push_back(std::move(message));
    return Status::Ok();
  }
  std::vector<StoredMessage> Take() && { return std::move(messages_); }

 private:
  const size_t bytes_max_;
  size_t bytes_ = 0;
  std::vector<StoredMessage> messages_;
};

Status ReadWindowByScan(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                        const std::vector<uint64_t>& items, MessageList& messages) {
  size_t next = 0;
  Status damage;
  AG_RETURN_IF_ERROR(ScanMessages(snapshot, thread, WindowRow::Sequence(items.front()), false,
                                  [&](uint64_t sequence, std::string_view value) {
                                    while (next < items.size() &&
                                           WindowRow::Sequence(items[next]) < sequence)
                                      ++next;
                                    if (next == items.size()) return false;
                                    if (WindowRow::Sequence(items[next]) != sequence) return true;
                                    damage = messages.Add(value, sequence);
                                    return ++next < items.size() && damage.ok();
                                  }));
  return damage;
}

Status ReadWindowByRow(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                       const std::vector<uint64_t>& items, MessageList& messages) {
  for (uint64_t item : items) {
    const uint64_t sequence = WindowRow::Sequence(item);
    AG_ASSIGN_OR_RETURN(std::optional<std::string> value,
                        snapshot.Get(keys::Message(thread, sequence)));
    if (!value) continue;
    AG_RETURN_IF_ERROR(messages.Add(*value, sequence));
  }
  return Status::Ok();
}

// Collects messages, newest first, until the next one would not fit into a reply.
class NewestMessages {
 public:
  // Returns false if no further message is needed.
  bool Add(std::string_view value, uint64_t sequence) {
    Result<StoredMessage> message = ToMessage(value, sequence);
    if (!message.ok()) damage_ = message.status();
    if (!message.ok() || bytes_ + message->json.size() > kWindowBytesMax) return false;
    bytes_ += message->json.size();
    messages_.push_back(*std::move(message));
    return true;
  }
  Result<std::vector<StoredMessage>> Take() && {
    AG_RETURN_IF_ERROR(damage_);
    std::ranges::reverse(messages_);
    return std::move(messages_);
  }

 private:
  Status damage_;
  size_t bytes_ = 0;
  std::vector<StoredMessage> messages_;
};

Status ReadNewestByScan(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                        const std::vector<uint64_t>& items, NewestMessages& messages) {
  auto next = items.rbegin();
  return snapshot.ScanBackwards(
      keys::Message(thread, WindowRow::Sequence(items.front())),
      keys::Message(thread, WindowRow::Sequence(items.back()) + 1),
      [&](std::string_view key, std::string_view value) {
        keys::Parser parser(key, keys::Table::kMessage);
        parser.Thread();
        const uint64_t sequence = parser.Integer();
        while (next != items.rend() && WindowRow::Sequence(*next) > sequence) ++next;
        if (next == items.rend()) return false;
        return WindowRow::Sequence(*next) != sequence || messages.Add(value, sequence);
      });
}

Status ReadNewestByRow(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                       const std::vector<uint64_t>& items, NewestMessages& messages) {
  for (auto item = items.rbegin(); item != items.rend(); ++item) {
    const uint64_t sequence = WindowRow::Sequence(*item);
    AG_ASSIGN_OR_RETURN(std::optional<std::string> value,
                        snapshot.Get(keys::Message(thread, sequence)));
    if (value && !messages.Add(*value, sequence)) break;
  }
  return Status::Ok();
}

// A window of huge messages loses its oldest: it must fit into a reply.
Result<std::vector<StoredMessage>> ReadMessagesOf(const DatabaseSnapshot& snapshot,
                                                  const keys::ThreadKey& thread,
                                                  const std::vector<uint64_t>& items,
                                                  size_t bytes_max = kAnyBytes) {
  if (items.empty()) return std::vector<StoredMessage>();
  const uint64_t span = WindowRow::Sequence(items.back()) - WindowRow::Sequence(items.front()) + 1;
  const bool scans = span <= items.size() * kScanSpanPerItem;
  Status read;
  {
    MessageList list(std::min(bytes_max, kWindowBytesMax));
    read = scans ? ReadWindowByScan(snapshot, thread, items, list)
                 : ReadWindowByRow(snapshot, thread, items, list);
    if (read.ok()) return std::move(list).Take();
  }
  if (read.code() != StatusCode::kResourceExhausted || bytes_max < kWindowBytesMax) return read;
  NewestMessages newest;
  AG_RETURN_IF_ERROR(scans ? ReadNewestByScan(snapshot, thread, items, newest)
                           : ReadNewestByRow(snapshot, thread, items, newest));
  return std::move(newest).Take();
}

Result<std::vector<uint64_t>> ReadWindowItems(const DatabaseSnapshot& snapshot,
                                              const keys::ThreadKey& thread) {
  AG_ASSIGN_OR_RETURN(std::optional<WindowRow> window,
                      ReadRow<WindowRow>(snapshot, keys::Window(thread)));
  return window ? std::move(window->items) : std::vector<uint64_t>();
}

// Returns false if the client's window is of another thread, or not as it is stored.
Result<bool> IsStored(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                      uint64_t window_version, const std::optional<KnownWindow>& known) {
  if (!known || known->thread_number != thread.number || known->version != window_version) {
    return false;
  }
  if (known->message_id.empty()) return true;
  AG_ASSIGN_OR_RETURN(std::optional<std::string> value,
                      snapshot.Get(keys::Message(thread, known->through)));
  if (!value) return false;
  AG_ASSIGN_OR_RETURN(const StoredMessage message, ToMessage(*value, known->through));
  return message.id == known->message_id;
}

// The thread as its latest run has left it.
Result<ThreadState> ReadStateBesideWindow(const DatabaseSnapshot& snapshot,
                                          const std::string& thread_id, const ThreadRow& thread) {
  ThreadState state;
  state.record = thread.Record(thread_id);
  AG_ASSIGN_OR_RETURN(std::optional<Snapshot> stored,
                      ReadRow<Snapshot>(snapshot, keys::Snapshot(thread.key())));
  if (stored) state.snapshot = std::move(*stored);
  return state;
}

Status ReadRunInFlight(const DatabaseSnapshot& snapshot, const keys::ThreadKey& thread,
                       ThreadState& state) {
  AG_ASSIGN_OR_RETURN(std::optional<LeaseRow> lease,
                      ReadRow<LeaseRow>(snapshot, keys::Lease(thread)));
  if (lease) {
    state.record.last_run_id = lease->run_id;
    state.in_flight = RunInFlight{lease->run_id, lease->current_node, lease->step,
                                  lease->stop_requested, std::move(lease->queued_runs)};
  }
  return Status::Ok();
}

}  // namespace

Status Fenced() {
  return Status(StatusCode::kFenced, "the run no longer holds its thread");
}

Result<ThreadRow> ReadThread(const DatabaseSnapshot& snapshot, const Scope& scope,
                             const std::string& thread_id) {
  AG_ASSIGN_OR_RETURN(std::optional<ThreadRow> thread,
                      ReadRow<ThreadRow>(snapshot, keys::Thread(thread_id)));
  if (!thread || !InScope(scope, thread->owner)) {
    return Status(StatusCode::kNotFound, "thread not found");
  }
  return std::move(*thread);
}

Result<ThreadState> ReadState(const DatabaseSnapshot& snapshot, const std::string& thread_id,
                              const ThreadRow& thread) {
  AG_ASSIGN_OR_RETURN(ThreadState state, ReadStateBesideWindow(snapshot, thread_id, thread));
  AG_RETURN_IF_ERROR(ReadRunInFlight(snapshot, thread.key(), state));
  AG_ASSIGN_OR_RETURN(const std::vector<uint64_t> items, ReadWindowItems(snapshot, thread.key()));
  AG_ASSIGN_OR_RETURN(state.window, ReadMessagesOf(snapshot, thread.key(), items));
  return state;
}

Result<BegunWindow> ReadBegunWindow(const DatabaseSnapshot& snapshot, const ThreadRow& thread,
                                    const std::optional<KnownWindow>& known) {
  AG_ASSIGN_OR_RETURN(const std::optional<CountersRow> counters,
                      ReadRow<CountersRow>(snapshot, keys::Counters(thread.key())));
  BegunWindow window;
  window.log_index = counters ? counters->next_log_index : 0;
  window.version = counters.value_or(CountersRow()).window_version();
  AG_ASSIGN_OR_RETURN(window.items, ReadWindowItems(snapshot, thread.key()));
  AG_ASSIGN_OR_RETURN(window.is_partial, IsStored(snapshot, thread.key(), window.version, known));
  if (!window.is_partial) return window;
  window.known_through = known->through;
  for (const uint64_t item : window.items) window.sequences.push_back(WindowRow::Sequence(item));
  std::erase_if(window.items,
                [&](uint64_t item) { return WindowRow::Sequence(item) <= known->through; });
  return window;
}

Status ReadBegunState(const DatabaseSnapshot& snapshot, const std::string& thread_id,
                      const ThreadRow& thread, BegunWindow window, size_t bytes_max,
                      BeginRunReply& reply) {
  AG_ASSIGN_OR_RETURN(reply.state, ReadStateBesideWindow(snapshot, thread_id, thread));
  AG_ASSIGN_OR_RETURN(reply.state.window,
                      ReadMessagesOf(snapshot, thread.key(), window.items, bytes_max));
  reply.log_index = window.log_index;
  reply.window_version = window.version;
  reply.window_is_partial = window.is_partial;
  reply.window_sequences = std::move(window.sequences);
  reply.known_through = window.known_through;
  return Status::Ok();
}

Result<std::vector<LogEntry>> ReadLogEntries(const DatabaseSnapshot& snapshot,
                                             const keys::ThreadKey& thread, uint64_t first,
                                             uint64_t limit) {
  std::vector<LogEntry> entries;
  if (limit == 0) return entries;
  size_t bytes = 0;
  Status damage;
  const uint64_t entries_max = std::min<uint64_t>(limit, pack::kItemsMax);
  const std::string prefix = keys::ThreadPrefix(keys::Table::kLog, thread);
  // A row's key is the index of its last entry, so the first row at or behind `first` contains it.
  AG_RETURN_IF_ERROR(snapshot.Scan(keys::LogEntry(thread, first), keys::PrefixEnd(prefix),
                                   [&](std::string_view key, std::string_view value) {
                                     keys::Parser parser(key, keys::Table::kLog);
                                     parser.Thread();
                                     const uint64_t last = parser.Integer();
                                     LogRow row;
                                     if (!pack::FromBytes(value, row) ||
                                         row.entries.size() > last + 1) {
                                       damage = DamagedState();
                                       return false;
                                     }
                                     bytes += value.size();
                                     if (bytes > kPageBytesMax && !entries.empty()) return false;
                                     uint64_t index = last + 1 - row.entries.size();
                                     for (LogEntry& entry : row.entries) {
                                       if (index++ < first) continue;
                                       if (entries.size() == entries_max) return false;
                                       entries.push_back(std::move(entry));
                                     }
                                     return entries.size() < entries_max;
                                   }));
  AG_RETURN_IF_ERROR(damage);
  return entries;
}

}  // namespace agent_graph::state
