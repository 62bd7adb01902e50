// The SQL tables that hold the rows of keys.h. Keys of several kinds share a table; some kinds have
// no rows of their own, because a column of another table holds their keys:
//
//   kListing, kListingByOwner   columns of `thread`
//   kMessageId                  a column of `message`, whose key it leads to
//   kLease                      a column of `lease`, which has one row per thread
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "state/rows/keys.h"

namespace agent_graph::state::postgres {

// The SQL table that a key's row is written to.
enum class SqlTable : uint8_t {
  kMeta,
  kThread,
  kHead,  // the small rows of a thread that each run changes
  kSnapshot,
  kLog,
  kMessage,
  kLease,
  kRun,
  kRunRequest,
  kRunKey,
  kLookup,
  kReply,
  kMemory,
  kNone,  // written with another row
};

// The table and columns from which the rows of one kind of key are read.
struct RowSource {
  keys::Table kind;
  SqlTable written_to;
  const char* table;
  const char* key;    // the column with the keys of this kind
  const char* value;  // the column or expression with the values
};

// In the order of their keys.
std::span<const RowSource> RowSources();
// Null: no row has such a key.
const RowSource* SourceOf(std::string_view key);

// The kinds of rows that are read with a thread's record.
std::span<const keys::Table> HeadKinds();

// The fields that all keys of a thread's rows begin with, behind the byte of the table.
std::string PlaceOf(const keys::ThreadKey& thread);
// The place in such a key; empty: it has none.
std::string_view PlaceIn(std::string_view key);

}  // namespace agent_graph::state::postgres
