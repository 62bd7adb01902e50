#include "state/verify/thread_faults.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "state/limits.h"
#include "state/rows/rows.h"
#include "state/rules/lost_run.h"
#include "state/rules/pause.h"
#include "state/rules/stored_json.h"
#include "state/verify/look_ahead.h"

namespace agent_graph::state {
namespace {

using keys::Table;

// The order of checks: the mark of a deleted thread first, and counters before the rows that depend
// on them.
constexpr std::array kTables = {Table::kDeleted, Table::kCounters,   Table::kSnapshot,
                                Table::kWindow,  Table::kLease,      Table::kLogCut,
                                Table::kLog,     Table::kMessageId,  Table::kMessage,
                                Table::kPause,   Table::kRunBase,    Table::kOutsideChange,
                                Table::kRun,     Table::kRunRequest, Table::kIndexedThread};

// Checks one thread that has a record, row by row.
class ThreadFaults {
 public:
  ThreadFaults(Examination& examination, keys::ThreadKey thread)
      : examination_(examination), thread_(std::move(thread)) {}

  void Check(Table table, std::string_view key, std::string_view value) {
    keys::Parser parser(key, table);
    parser.Thread();
    switch (table) {
      case Table::kCounters:
        counters_ = examination_.Read<CountersRow>(key, value, parser);
        return;
      case Table::kSnapshot:
        examination_.Read<Snapshot>(key, value, parser);
        return;
      case Table::kWindow:
        window_ = examination_.Read<WindowRow>(key, value, parser);
        return;
      case Table::kLease:
        return CheckLease(key, value, parser);
      case Table::kPause:
        examination_.Read<PauseRow>(key, value, parser);
        return;
      case Table::kOutsideChange:
        examination_.Read<OutsideChangeRow>(key, value, parser);
        return;
      case Table::kRunBase:
        examination_.Read<RunBaseRow>(key, value, parser);
        return;
      case Table::kRun:
        parser.Text();
        examination_.Read<RunRow>(key, value, parser);
        return;
      case Table::kRunRequest:
        parser.Text();
        examination_.Read<RunRequestRow>(key, value, parser);
        return;
      case Table::kIndexedThread:
        examination_.Read<IndexedThreadRow>(key, value, parser);
        return;
      case Table::kLogCut:
        log_cut_ = examination_.Read<LogCutRow>(key, value, parser);
        return;
      case Table::kLog:
        return CheckLog(key, value, parser);
      case Table::kMessageId:
        return CheckMessageId(key, value, parser);
      case Table::kMessage:
        return CheckMessage(key, value, parser);
      default:
        return;
    }
  }

  // Call after the last row.
  void Finish() {
    FinishWindow();
    FinishCounters();
  }

 private:
  void CheckLease(std::string_view key, std::string_view value, const keys::Parser& parser) {
    const auto lease = examination_.Read<LeaseRow>(key, value, parser);
    if (!lease) return;
    const auto thread = examination_.Find<ThreadRow>(keys::Thread(lease->thread_id));
    if (!thread || thread->key() != thread_) {
      examination_.Wrong(key, "a lease names a thread that is not there");
    }
  }

  void CheckLog(std::string_view key, std::string_view value, keys::Parser& parser) {
    const uint64_t last = parser.Integer();
    next_log_index_ = std::max(next_log_index_, last + 1);
    const auto row = examination_.Read<LogRow>(key, value, parser);
    if (!row) return;
    if (row->entries.size() > last + 1) return examination_.Wrong(key, Examination::kBadRow);
    if (!oldest_log_row_) oldest_log_row_ = last;
  }

  void CheckMessageId(std::string_view key, std::string_view value, keys::Parser& parser) {
    const std::string id = parser.Text();
    const auto sequence = examination_.Read<uint64_t>(key, value, parser);
    if (!sequence) return;
    next_sequence_ = std::max(next_sequence_, *sequence + 1);
    if (!IsMessageOf(*sequence, id)) {
      examination_.Wrong(key, "an id names a message that is not there");
    }
  }
  bool IsMessageOf(uint64_t sequence, const std::string& id) {
    const auto row = examination_.Find<MessageRow>(keys::Message(thread_, sequence));
    return row && row->id == id;
  }

  void CheckMessage(std::string_view key, std::string_view value, keys::Parser& parser) {
    const uint64_t sequence = parser.Integer();
    next_sequence_ = std::max(next_sequence_, sequence + 1);
    const auto row = examination_.Read<MessageRow>(key, value, parser);
    if (!row) return;
    ++messages_;
    const std::string id_key = keys::MessageId(thread_, row->id);
    const auto named = examination_.Find<uint64_t>(id_key);
    // If such a row was lost, two messages may have one id; then the row may point to either.
    if (!named || (*named != sequence && !IsMessageOf(*named, row->id))) {
      examination_.Wrong(id_key, "the message is not found by its id", pack::ToBytes(sequence));
    }
    if (window_) return KeepInWindow(sequence);
    latest_.push_back(WindowRow::Item(sequence, IsFromUser(row->json)));
    if (latest_.size() > kWindowItemsMax) latest_.pop_front();
  }

  // Messages arrive in the order of their positions in the window.
  void KeepInWindow(uint64_t sequence) {
    const std::vector<uint64_t>& items = window_->items;
    while (next_item_ < items.size() && WindowRow::Sequence(items[next_item_]) < sequence) {
      ++next_item_;
    }
    if (next_item_ == items.size() || WindowRow::Sequence(items[next_item_]) != sequence) return;
    kept_.items.push_back(items[next_item_++]);
  }

  void FinishWindow() {
    const std::string key = keys::Window(thread_);
    if (!window_) {
      // A window is written with the first message. Which messages had been removed from it is
      // unknown.
      if (messages_ == 0) return;
      const WindowRow latest{{latest_.begin(), latest_.end()}};
      return examination_.Wrong(key, "the thread has no window", pack::ToBytes(latest));
    }
    for (uint64_t item : window_->items) {
      next_sequence_ = std::max(next_sequence_, WindowRow::Sequence(item) + 1);
    }
    if (kept_.items.size() != window_->items.size()) {
      examination_.Wrong(key, "the window names a message that is not there", pack::ToBytes(kept_));
    }
  }

  void FinishCounters() {
    const CountersRow stored = counters_.value_or(CountersRow());
    // The sweep deletes everything up to this index, so new entries must get higher ones.
    if (log_cut_) next_log_index_ = std::max(next_log_index_, log_cut_->to);
    CountersRow right = stored;
    right.messages = messages_;
    right.next_sequence = std::max(stored.next_sequence, next_sequence_);
    right.next_log_index = std::max(stored.next_log_index, next_log_index_);
    if (!MarksFit(right)) {
      right.log_marks.clear();
      right.runs_since_mark = 0;
      right.log_is_cut = false;
    }
    CheckCut(right);
    std::string bytes = pack::ToBytes(right);
    if (bytes == pack::ToBytes(stored)) return;
    const bool too_low = right.next_sequence != stored.next_sequence ||
                         right.next_log_index != stored.next_log_index;
    examination_.Wrong(keys::Counters(thread_),
                       too_low ? "the counter would assign numbers that are in use"
                               : "the counters of the thread are wrong",
                       std::move(bytes));
  }

  static bool MarksFit(const CountersRow& counters) {
    const std::vector<uint64_t>& marks = counters.log_marks;
    return std::ranges::adjacent_find(marks, std::greater_equal()) == marks.end() &&
           (marks.empty() || marks.back() < counters.next_log_index);
  }

  // Entries before the oldest mark of a cut log are to be swept.
  void CheckCut(const CountersRow& counters) {
    if (!counters.log_is_cut || counters.log_marks.empty() || !oldest_log_row_) return;
    const uint64_t oldest_kept = counters.log_marks.front();
    if (*oldest_log_row_ >= oldest_kept) return;
    if (log_cut_ && log_cut_->from <= *oldest_log_row_ && log_cut_->to >= oldest_kept) return;
    examination_.Wrong(keys::LogCut(thread_), "entries that were cut off the log are still stored",
                       pack::ToBytes(LogCutRow{0, oldest_kept}));
  }

  Examination& examination_;
  const keys::ThreadKey thread_;
  std::optional<CountersRow> counters_;
  std::optional<WindowRow> window_;
  std::optional<LogCutRow> log_cut_;
  uint64_t messages_ = 0;
  uint64_t next_sequence_ = 1;
  uint64_t next_log_index_ = 0;
  std::optional<uint64_t> oldest_log_row_;
  size_t next_item_ = 0;
  WindowRow kept_;               // the window's items that exist
  std::deque<uint64_t> latest_;  // latest messages, used if there is no window
};

// Iterates over the tables in parallel; each cursor is at its first unexamined row.
class ThreadWalk {
 public:
  explicit ThreadWalk(Examination& examination) : examination_(examination) {
    for (Table table : kTables) {
      const std::string prefix = keys::TablePrefix(table);
      rows_.push_back({table, examination.snapshot().NewCursor(prefix, keys::PrefixEnd(prefix))});
    }
  }

  void Run() {
    while (auto thread = Next()) {
      Collect(*thread);
      if (unseen_.is_full()) CheckAll();
    }
    CheckAll();
    FinishThread();
    for (const Rows& rows : rows_) examination_.Note(rows.cursor->status());
  }

 private:
  struct Rows {
    Table table;
    std::unique_ptr<RowCursor> cursor;
  };

  std::optional<keys::ThreadKey> Next() {
    std::optional<keys::ThreadKey> next;
    for (Rows& rows : rows_) {
      const auto thread = ThreadOf(rows);
      if (!examination_.status().ok()) return std::nullopt;
      if (thread && (!next || std::tie(thread->owner, thread->number) <
                                  std::tie(next->owner, next->number))) {
        next = thread;
      }
    }
    return next;
  }

  // Skips rows whose keys contain no thread.
  std::optional<keys::ThreadKey> ThreadOf(Rows& rows) {
    for (; rows.cursor->Valid(); rows.cursor->Next()) {
      keys::Parser parser(rows.cursor->key(), rows.table);
      keys::ThreadKey thread = parser.Thread();
      if (parser.ok()) return thread;
      examination_.Wrong(rows.cursor->key(), Examination::kBadKey);
      if (!examination_.See(rows.cursor->key(), rows.cursor->value())) break;
    }
    return std::nullopt;
  }

  void Collect(const keys::ThreadKey& thread) {
    for (Rows& rows : rows_) {
      const std::string prefix = keys::ThreadPrefix(rows.table, thread);
      for (; rows.cursor->Valid() && rows.cursor->key().starts_with(prefix); rows.cursor->Next()) {
        unseen_.Add(rows.table, rows.cursor->key(), rows.cursor->value());
        if (unseen_.is_full() && !CheckAll()) return;
      }
    }
  }

  // Returns false to end the pass.
  bool CheckAll() {
    for (const UnseenRow& row : unseen_.Take(examination_)) {
      Check(row);
      if (!examination_.See(row.key, row.value)) return false;
    }
    return examination_.status().ok();
  }

  void Check(const UnseenRow& row) {
    const keys::ThreadKey thread = keys::Parser(row.key, row.table).Thread();
    if (!walked_ || walked_->thread != thread) {
      FinishThread();
      walked_.emplace(examination_, thread);
      walked_->recorded = examination_.threads.Contains(thread.number);
    }
    walked_->deleted = walked_->deleted || row.table == Table::kDeleted;
    if (walked_->recorded) {
      walked_->faults.Check(row.table, row.key, row.value);
    } else if (row.table == Table::kLease) {
      examination_.Wrong(row.key, "a lease names a thread that is not there");
    }
  }

  // Call after the last row of a thread.
  void FinishThread() {
    if (!walked_ || !examination_.status().ok()) return;
    if (walked_->recorded) {
      walked_->faults.Finish();
    } else if (!walked_->deleted) {
      // These rows are unreachable; they are swept like those of a deleted thread.
      examination_.Wrong(keys::Deleted(walked_->thread), "the thread has rows but no record", "");
    }
  }

  // The thread whose rows are examined.
  struct Walked {
    Walked(Examination& examination, const keys::ThreadKey& key)
        : thread(key), faults(examination, key) {}
    const keys::ThreadKey thread;
    ThreadFaults faults;
    bool recorded = false;
    bool deleted = false;
  };

  Examination& examination_;
  std::vector<Rows> rows_;
  UnseenRows unseen_;
  std::optional<Walked> walked_;
};

}  // namespace

bool IsBelowThread(Table table) {
  return std::ranges::find(kTables, table) != kTables.end();
}

void FindThreadFaults(Examination& examination) {
  ThreadWalk(examination).Run();
}

}  // namespace agent_graph::state
