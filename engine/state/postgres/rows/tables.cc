#include "state/postgres/rows/tables.h"

#include <algorithm>

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr RowSource kSources[] = {
    {Table::kMeta, SqlTable::kMeta, "meta", "key", "value"},
    {Table::kThread, SqlTable::kThread, "thread", "key", "value"},
    {Table::kCounters, SqlTable::kHead, "head", "key", "value"},
    {Table::kSnapshot, SqlTable::kSnapshot, "snapshot", "key", "value"},
    {Table::kWindow, SqlTable::kHead, "head", "key", "value"},
    {Table::kLog, SqlTable::kLog, "log", "key", "value"},
    {Table::kMessage, SqlTable::kMessage, "message", "key", "value"},
    {Table::kMessageId, SqlTable::kNone, "message", "id_key", "key"},
    {Table::kLease, SqlTable::kLease, "lease", "lease_key", "value"},
    {Table::kListingByOwner, SqlTable::kNone, "thread", "owner_listing", "value"},
    {Table::kListing, SqlTable::kNone, "thread", "listing", "value"},
    {Table::kDeleted, SqlTable::kLookup, "lookup", "key", "value"},
    {Table::kReply, SqlTable::kReply, "reply", "key", "value"},
    {Table::kLogCut, SqlTable::kHead, "head", "key", "value"},
    {Table::kPause, SqlTable::kHead, "head", "key", "value"},
    {Table::kWaitingCall, SqlTable::kLookup, "lookup", "key", "value"},
    {Table::kOutsideChange, SqlTable::kHead, "head", "key", "value"},
    {Table::kRun, SqlTable::kRun, "run", "key", "value"},
    {Table::kRunRequest, SqlTable::kRunRequest, "run_request", "key", "value"},
    {Table::kRunKey, SqlTable::kRunKey, "run_key", "key", "value"},
    {Table::kRunKeyExpiry, SqlTable::kRunKey, "run_key", "key", "value"},
    {Table::kMetadataByOwner, SqlTable::kLookup, "lookup", "key", "value"},
    {Table::kMetadata, SqlTable::kLookup, "lookup", "key", "value"},
    {Table::kIndexedThread, SqlTable::kHead, "head", "key", "value"},
    {Table::kRunBase, SqlTable::kSnapshot, "snapshot", "key", "value"},
    {Table::kMemoryPlace, SqlTable::kMemory, "memory_row", "key", "value"},
    {Table::kMemory, SqlTable::kMemory, "memory_row", "key", "value"},
    {Table::kMemoryVector, SqlTable::kMemory, "memory_row", "key", "value"},
    {Table::kMemoryListing, SqlTable::kMemory, "memory_row", "key", "value"},
};

constexpr Table kHeadKinds[] = {Table::kCounters, Table::kWindow,        Table::kLogCut,
                                Table::kPause,    Table::kOutsideChange, Table::kIndexedThread};

// The kinds whose keys begin with the thread.
constexpr Table kBelowThread[] = {Table::kCounters,   Table::kSnapshot,      Table::kWindow,
                                  Table::kLog,        Table::kMessage,       Table::kMessageId,
                                  Table::kLease,      Table::kDeleted,       Table::kLogCut,
                                  Table::kPause,      Table::kOutsideChange, Table::kRun,
                                  Table::kRunRequest, Table::kIndexedThread, Table::kRunBase};

}  // namespace

std::span<const RowSource> RowSources() {
  return kSources;
}

const RowSource* SourceOf(std::string_view key) {
  if (key.empty()) return nullptr;
  const auto kind = static_cast<Table>(key[0]);
  const auto found = std::ranges::find(kSources, kind, &RowSource::kind);
  return found == std::end(kSources) ? nullptr : found;
}

std::span<const Table> HeadKinds() {
  return kHeadKinds;
}

std::string PlaceOf(const keys::ThreadKey& thread) {
  return keys::Counters(thread).substr(1);
}

std::string_view PlaceIn(std::string_view key) {
  if (key.empty()) return {};
  const auto kind = static_cast<Table>(key[0]);
  if (std::ranges::find(kBelowThread, kind) == std::end(kBelowThread)) return {};
  // The owner ends with 0x00 0x01; a zero inside of it is 0x00 0xff. The number has 8 bytes.
  const size_t end = key.find(std::string_view("\0\1", 2), 1);
  if (end == std::string_view::npos || key.size() < end + 10) return {};
  return key.substr(1, end + 9);
}

}  // namespace agent_graph::state::postgres
