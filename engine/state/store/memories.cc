#include "state/store/memories.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "state/limits.h"
#include "state/rules/memories.h"
#include "state/search/filter.h"

namespace agent_graph::state {
namespace {

// A page ends after passing so many bytes of memories; its cursor continues from there.
constexpr size_t kMemoryBytesPassedMax = 64 * 1024 * 1024;

// A cursor is the number of the last memory examined. It cannot open rows of other owners.
Result<uint64_t> NumberFromCursor(const std::string& cursor) {
  uint64_t number = 0;
  const char* end = cursor.data() + cursor.size();
  auto [stop, error] = std::from_chars(cursor.data(), end, number);
  if (error != std::errc() || stop != end) {
    return Status(StatusCode::kInvalidArgument, "cursor: not one that this service gave");
  }
  return number;
}

// A listing of memories, newest first: of one owner or of all.
class MemoryListing {
 public:
  MemoryListing(const DatabaseSnapshot& snapshot, const Scope& scope)
      : snapshot_(snapshot),
        by_owner_(scope.kind == Scope::Kind::kOwner),
        owner_(scope.user_id),
        prefix_(by_owner_ ? keys::MemoryPrefix(keys::Table::kMemory, owner_)
                          : keys::TablePrefix(keys::Table::kMemoryListing)) {}

  std::string begin() const { return prefix_; }
  std::string end() const { return keys::PrefixEnd(prefix_); }
  // Returns the first key behind a position, in descending order.
  std::string Before(uint64_t number) const {
    return by_owner_ ? keys::Memory({owner_, number}) : keys::MemoryListing(number);
  }

  Result<MemoryRecord> Record(std::string_view key, std::string_view value,
                              uint64_t& number) const {
    keys::Parser parser(key, by_owner_ ? keys::Table::kMemory : keys::Table::kMemoryListing);
    if (by_owner_) parser.Text();
    number = parser.Integer();
    MemoryRecord record;
    if (by_owner_) {
      if (parser.ok() && pack::FromBytes(value, record)) return record;
      return DamagedState();
    }
    AG_ASSIGN_OR_RETURN(
        std::optional<MemoryRecord> row,
        ReadRow<MemoryRecord>(snapshot_, keys::Memory({std::string(value), number})));
    if (!row) return DamagedState();
    return *std::move(row);
  }

 private:
  const DatabaseSnapshot& snapshot_;
  const bool by_owner_;
  const std::string owner_;
  const std::string prefix_;
};

}  // namespace

Result<MemoryRecord> ReadMemory(const DatabaseSnapshot& snapshot, const MemoryName& name) {
  const Status not_found(StatusCode::kNotFound, "memory not found");
  AG_ASSIGN_OR_RETURN(std::optional<MemoryKey> place,
                      ReadRow<MemoryKey>(snapshot, keys::MemoryPlace(name.id)));
  if (!place) return not_found;
  AG_ASSIGN_OR_RETURN(std::optional<MemoryRecord> record,
                      ReadRow<MemoryRecord>(snapshot, keys::Memory(*place)));
  if (!record || !MayTouch(name.scope, name.agent_id, *record)) return not_found;
  return *std::move(record);
}

Result<MemoryPage> ReadMemoryPage(const DatabaseSnapshot& snapshot,
                                  const ListMemoriesRequest& list) {
  MemoryPage page;
  const uint64_t limit = std::min(list.limit, kPageItemsMax);
  // A memory without an owner belongs to no user.
  if (limit == 0 || (list.scope.kind == Scope::Kind::kOwner && list.scope.user_id.empty())) {
    return page;
  }
  const MemoryListing listing(snapshot, list.scope);
  const FilterMatcher filter(list.filter);
  std::string end = listing.end();
  if (!list.cursor.empty()) {
    AG_ASSIGN_OR_RETURN(uint64_t last, NumberFromCursor(list.cursor));
    end = listing.Before(last);
  }
  uint64_t passed = 0;
  size_t bytes_passed = 0;
  uint64_t last = 0;
  size_t bytes = 0;
  bool more = false;
  Status damage;
  AG_RETURN_IF_ERROR(snapshot.ScanBackwards(
      listing.begin(), end, [&](std::string_view key, std::string_view value) {
        more = page.memories.size() == limit || bytes > kPageBytesMax ||
               bytes_passed > kMemoryBytesPassedMax || passed == kRowsPassedMax;
        if (more) return false;
        ++passed;
        Result<MemoryRecord> record = listing.Record(key, value, last);
        if (!record.ok()) {
          damage = record.status();
          return false;
        }
        const size_t record_bytes = TextBytes(*record);
        bytes_passed += record_bytes;
        if (!filter.Matches(*record)) return true;
        bytes += record_bytes;
        page.memories.push_back(*std::move(record));
        return true;
      }));
  AG_RETURN_IF_ERROR(damage);
  if (more) page.next_cursor = std::to_string(last);
  return page;
}

Result<UnembeddedPage> ReadUnembedded(const DatabaseSnapshot& snapshot,
                                      const ListUnembeddedRequest& list) {
  AG_ASSIGN_OR_RETURN(MemoryPage memories,
                      ReadMemoryPage(snapshot, {Scope::All(), {}, list.limit, list.cursor}));
  UnembeddedPage page;
  page.looked_at = memories.memories.size();
  page.next_cursor = std::move(memories.next_cursor);
  for (MemoryRecord& record : memories.memories) {
    if (IsBlank(record.content)) continue;  // a message without text has no vector
    AG_ASSIGN_OR_RETURN(std::optional<MemoryKey> place,
                        ReadRow<MemoryKey>(snapshot, keys::MemoryPlace(record.id)));
    if (!place) continue;
    AG_ASSIGN_OR_RETURN(std::optional<Embedding> embedding,
                        ReadRow<Embedding>(snapshot, keys::MemoryVector(*place)));
    const bool right = embedding && embedding->space == list.space &&
                       embedding->values.size() == list.dimensions * sizeof(float);
    if (!right) page.memories.push_back({std::move(record.id), std::move(record.content)});
  }
  return page;
}

}  // namespace agent_graph::state
