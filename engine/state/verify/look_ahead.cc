#include "state/verify/look_ahead.h"

#include <map>
#include <optional>
#include <utility>

#include "state/rows/rows.h"
#include "state/rules/pause.h"

namespace agent_graph::state {
namespace {

using keys::Table;

// Keys of rows to read, with one query for each table. Unreadable rows add none.
class Lookups {
 public:
  explicit Lookups(Examination& examination) : examination_(examination) {}

  void Add(std::string key) { keys_[static_cast<Table>(key[0])].push_back(std::move(key)); }
  void Read() {
    for (const auto& [table, keys] : std::exchange(keys_, {})) examination_.Prefetch(keys);
  }

 private:
  Examination& examination_;
  std::map<Table, std::vector<std::string>> keys_;
};

template <typename Row>
std::optional<Row> RowIn(const UnseenRow& row) {
  Row decoded;
  if (!pack::FromBytes(row.value, decoded)) return std::nullopt;
  return decoded;
}

// The id of the thread that an index row names; nullopt: rows of this table name none.
std::optional<std::string> ThreadIdOf(const UnseenRow& row) {
  keys::Parser parser(row.key, row.table);
  const auto skip = [&](int texts) {
    for (int i = 0; i < texts; ++i) parser.Text();
  };
  switch (row.table) {
    case Table::kListing:
    case Table::kListingByOwner:
      skip(row.table == Table::kListing ? 0 : 1);
      parser.NewestFirst();
      break;
    case Table::kMetadata:
    case Table::kMetadataByOwner:
      skip(row.table == Table::kMetadata ? 2 : 3);
      parser.NewestFirst();
      break;
    case Table::kWaitingCall:
      skip(2);
      break;
    default:
      return std::nullopt;
  }
  std::string id = parser.Text();
  return parser.ok() ? std::optional(std::move(id)) : std::nullopt;
}

void AddOfThread(const UnseenRow& row, keys::Parser& parser, Lookups& lookups) {
  const std::string id = parser.Text();
  const auto thread = RowIn<ThreadRow>(row);
  if (!thread) return;
  lookups.Add(keys::Deleted(thread->key()));
  lookups.Add(keys::Pause(thread->key()));
  lookups.Add(keys::Listing(thread->updated_micros, id));
  if (!thread->owner.empty()) {
    lookups.Add(keys::ListingByOwner(thread->owner, thread->updated_micros, id));
  }
}

void AddOfMemory(const UnseenRow& row, keys::Parser& parser, Lookups& lookups) {
  const MemoryKey memory = parser.Memory();
  lookups.Add(keys::MemoryListing(memory.number));
  if (const auto record = RowIn<MemoryRecord>(row)) lookups.Add(keys::MemoryPlace(record->id));
}

// Adds the rows that the check of a row looks up first.
void AddFirst(const UnseenRow& row, Lookups& lookups) {
  keys::Parser parser(row.key, row.table);
  switch (row.table) {
    case Table::kThread:
      return AddOfThread(row, parser, lookups);
    case Table::kMemory:
      return AddOfMemory(row, parser, lookups);
    case Table::kMemoryPlace:
      if (const auto place = RowIn<MemoryKey>(row)) lookups.Add(keys::Memory(*place));
      return;
    case Table::kMemoryVector:
      return lookups.Add(keys::Memory(parser.Memory()));
    case Table::kMemoryListing:
      return lookups.Add(keys::Memory({row.value, parser.Integer()}));
    case Table::kLease:
      if (const auto lease = RowIn<LeaseRow>(row)) lookups.Add(keys::Thread(lease->thread_id));
      return;
    case Table::kMessageId: {
      const keys::ThreadKey thread = parser.Thread();
      if (const auto sequence = RowIn<uint64_t>(row)) {
        lookups.Add(keys::Message(thread, *sequence));
      }
      return;
    }
    case Table::kMessage: {
      const keys::ThreadKey thread = parser.Thread();
      if (const auto message = RowIn<MessageRow>(row)) {
        lookups.Add(keys::MessageId(thread, message->id));
      }
      return;
    }
    default:
      if (const auto id = ThreadIdOf(row)) lookups.Add(keys::Thread(*id));
  }
}

// Adds the rows that are named by the rows of AddFirst.
void AddSecond(const UnseenRow& row, Examination& examination, Lookups& lookups) {
  const auto id = ThreadIdOf(row);
  const auto thread = id ? examination.Find<ThreadRow>(keys::Thread(*id)) : std::nullopt;
  if (!thread) return;
  if (row.table == Table::kListing || row.table == Table::kListingByOwner) {
    lookups.Add(keys::Deleted(thread->key()));
  } else if (row.table == Table::kWaitingCall) {
    lookups.Add(keys::Pause(thread->key()));
  } else {
    lookups.Add(keys::IndexedThread(thread->key()));
  }
}

}  // namespace

std::vector<UnseenRow> UnseenRows::Take(Examination& examination) {
  bytes_ = 0;
  std::vector<UnseenRow> rows = std::exchange(rows_, {});
  examination.ForgetPrefetched();
  Lookups lookups(examination);
  for (const UnseenRow& row : rows) AddFirst(row, lookups);
  lookups.Read();
  for (const UnseenRow& row : rows) AddSecond(row, examination, lookups);
  lookups.Read();
  return rows;
}

}  // namespace agent_graph::state
