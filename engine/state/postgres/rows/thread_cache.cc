#include "state/postgres/rows/thread_cache.h"

#include <algorithm>
#include <utility>

#include "state/postgres/rows/tables.h"
#include "state/rows/keys.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

// The kinds of rows that a batch reads of a thread, beside its record.
constexpr Table kKeptKinds[] = {Table::kCounters, Table::kSnapshot,   Table::kWindow,
                                Table::kMessage,  Table::kMessageId,  Table::kLease,
                                Table::kLogCut,   Table::kPause,      Table::kOutsideChange,
                                Table::kRun,      Table::kRunRequest, Table::kIndexedThread,
                                Table::kRunBase};
// About what the map needs for a row.
constexpr size_t kRowOverhead = 96;

Table KindOf(std::string_view key) {
  return key.empty() ? Table::kMeta : static_cast<Table>(key[0]);
}

size_t BytesOf(const std::string& key, const std::optional<std::string>& value) {
  return kRowOverhead + key.size() + (value ? value->size() : 0);
}

}  // namespace

void CachedThread::Know(std::string_view key, std::optional<std::string_view> value) {
  const Table kind = KindOf(key);
  const bool is_kept =
      kind == Table::kThread || std::ranges::find(kKeptKinds, kind) != std::end(kKeptKinds);
  if (!is_kept) return;
  std::optional<std::string> kept;
  if (value) kept.emplace(*value);
  rows.insert_or_assign(std::string(key), std::move(kept));
}

std::optional<std::optional<std::string>> CachedThread::Find(const std::string& key) const {
  if (const auto row = rows.find(key); row != rows.end()) return row->second;
  const bool is_no_message =
      KindOf(key) == Table::kMessage && !messages_from.empty() && key >= messages_from;
  if (is_no_message) return std::optional<std::string>();
  return std::nullopt;
}

size_t CachedThread::bytes() const {
  size_t bytes = place.size() + kRowOverhead;
  for (const auto& [key, value] : rows) bytes += BytesOf(key, value);
  return bytes;
}

void CachedThread::Trim(size_t bytes_max) {
  size_t left = bytes();
  const std::string message(1, static_cast<char>(Table::kMessage));
  for (auto row = rows.lower_bound(message); left > bytes_max && row != rows.end();) {
    if (KindOf(row->first) != Table::kMessage) break;
    left -= BytesOf(row->first, row->second);
    row = rows.erase(row);
    const bool has_more = row != rows.end() && KindOf(row->first) == Table::kMessage;
    messages_from = has_more ? std::max(messages_from, row->first) : std::string();
  }
  for (auto row = rows.begin(); left > bytes_max && row != rows.end();) {
    const bool is_large = KindOf(row->first) == Table::kSnapshot ||
                          KindOf(row->first) == Table::kRunBase ||
                          KindOf(row->first) == Table::kMessageId;
    if (is_large) left -= BytesOf(row->first, row->second);
    row = is_large ? rows.erase(row) : std::next(row);
  }
}

std::optional<CachedThread> ThreadCache::Take(const std::string& key) {
  for (Threads* const threads : {&newer_, &older_}) {
    const auto found = threads->find(key);
    if (found == threads->end()) continue;
    if (threads == &newer_) newer_bytes_ -= found->second.bytes();
    CachedThread thread = std::move(found->second);
    threads->erase(found);
    return thread;
  }
  return std::nullopt;
}

const CachedThread* ThreadCache::Find(const std::string& key) {
  for (const Threads* const threads : {&newer_, &older_}) {
    const auto found = threads->find(key);
    if (found != threads->end()) return &found->second;
  }
  return nullptr;
}

void ThreadCache::Put(const std::string& key, CachedThread thread) {
  Erase(key);
  const size_t bytes = thread.bytes();
  if (bytes > kThreadBytesMax) return;
  if (newer_bytes_ + bytes > bytes_max_ / 2) {
    older_ = std::exchange(newer_, {});
    newer_bytes_ = 0;
  }
  newer_bytes_ += bytes;
  newer_.insert_or_assign(key, std::move(thread));
}

void ThreadCache::Clear() {
  newer_.clear();
  older_.clear();
  newer_bytes_ = 0;
}

void ThreadCache::Erase(const std::string& key) {
  (void)Take(key);
}

}  // namespace agent_graph::state::postgres
