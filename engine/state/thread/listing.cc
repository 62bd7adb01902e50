#include "state/thread/listing.h"

#include <algorithm>

#include "base/hex.h"
#include "base/letter_case.h"
#include "state/limits.h"
#include "state/rules/metadata.h"
#include "state/rules/stored_json.h"
#include "state/thread/thread_read.h"

namespace agent_graph::state {
namespace {

// A page ends after reading so many bytes of threads; its cursor continues from there.
constexpr size_t kThreadBytesPassedMax = 64 * 1024 * 1024;

// A position in a listing. Encoded as text it is a cursor. It names no owner, so it cannot open
// another owner's listing.
struct Place {
  int64_t updated_micros = 0;
  std::string thread_id;
  uint64_t skip = 0;  // rest of an offset
};

template <pack::SameAs<Place> T>
auto Fields(T& place) {
  return std::tie(place.updated_micros, place.thread_id, place.skip);
}

std::string ToCursor(const Place& place) {
  const std::string bytes = pack::ToBytes(place);
  return Hex(bytes.data(), bytes.size());
}

Result<Place> PlaceFromCursor(const std::string& cursor) {
  const Status bad(StatusCode::kInvalidArgument, "cursor: not one that this service gave");
  if (cursor.size() % 2 != 0) return bad;
  std::string bytes;
  for (size_t i = 0; i < cursor.size(); i += 2) {
    int high = LowerHexValue(cursor[i]);
    int low = LowerHexValue(cursor[i + 1]);
    if (high < 0 || low < 0) return bad;
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  Place place;
  if (!pack::FromBytes(bytes, place)) return bad;
  return place;
}

uint64_t SkipOf(const PageRequest& page, const Place& place) {
  return page.offset + std::min(place.skip, ~page.offset);
}

bool Matches(const ThreadRow& thread, const std::string& thread_id, const std::string& search) {
  return search.empty() || ContainsIgnoringCase(thread_id, search) ||
         ContainsIgnoringCase(thread.name, search) ||
         ContainsIgnoringCase(thread.metadata_json, search);
}

// One listing: threads of a scope, newest first. All of them, or those in the index that have a
// value of metadata.
class Listing {
 public:
  // `value` may be null. Both must outlive the object.
  Listing(const Scope& scope, const MetadataValue* value)
      : scope_(scope), value_(value), by_owner_(scope.kind == Scope::Kind::kOwner) {
    if (value_ != nullptr) {
      table_ = by_owner_ ? keys::Table::kMetadataByOwner : keys::Table::kMetadata;
      prefix_ = by_owner_ ? keys::MetadataByOwnerPrefix(scope.user_id, *value)
                          : keys::MetadataPrefix(*value);
    } else {
      table_ = by_owner_ ? keys::Table::kListingByOwner : keys::Table::kListing;
      prefix_ = by_owner_ ? keys::ListingByOwnerPrefix(scope.user_id) : keys::TablePrefix(table_);
    }
  }

  std::string begin() const { return prefix_; }
  std::string end() const { return keys::PrefixEnd(prefix_); }
  // Returns the first key behind a position.
  std::string After(const Place& place) const { return keys::PrefixEnd(KeyOf(place)); }
  Place Parse(std::string_view key) const {
    keys::Parser parser(key, table_);
    if (by_owner_) parser.Text();
    for (int part = 0; value_ != nullptr && part < 2; ++part) parser.Text();
    Place place;
    place.updated_micros = parser.NewestFirst();
    place.thread_id = parser.Text();
    return place;
  }

 private:
  std::string KeyOf(const Place& place) const {
    const int64_t micros = place.updated_micros;
    const std::string& owner = scope_.user_id;
    if (value_ != nullptr) {
      return by_owner_ ? keys::MetadataByOwner(owner, *value_, micros, place.thread_id)
                       : keys::Metadata(*value_, micros, place.thread_id);
    }
    return by_owner_ ? keys::ListingByOwner(owner, micros, place.thread_id)
                     : keys::Listing(micros, place.thread_id);
  }

  const Scope& scope_;
  const MetadataValue* const value_;
  const bool by_owner_;
  keys::Table table_;
  std::string prefix_;
};

// False if the index row is older than the thread's record, because a build without the index has
// changed the record.
bool IsCurrent(const ThreadRow& thread, const Place& place, const PageRequest& page) {
  return page.metadata.empty() || (thread.updated_micros == place.updated_micros &&
                                   HasMetadata(thread.metadata_json, page.metadata));
}

}  // namespace

uint64_t ThreadsToSkip(const PageRequest& page) {
  if (page.cursor.empty()) return page.offset;
  const Result<Place> place = PlaceFromCursor(page.cursor);
  return place.ok() ? SkipOf(page, *place) : 0;
}

std::string CursorBehind(const ThreadRecord& thread) {
  return ToCursor({thread.updated_micros, thread.thread_id, 0});
}

Result<ThreadPage> ReadThreadPage(const DatabaseSnapshot& snapshot,
                                  const ListThreadsRequest& body) {
  const PageRequest& request = body.page;
  ThreadPage page;
  const uint64_t limit = std::min(request.limit, kPageItemsMax);
  // A thread without an owner belongs to no user.
  if (limit == 0 || (body.scope.kind == Scope::Kind::kOwner && body.scope.user_id.empty())) {
    return page;
  }
  const bool by_value = !request.metadata.empty();
  const Listing listing(body.scope, by_value ? &request.metadata.front() : nullptr);
  std::string begin = listing.begin();
  uint64_t skip = request.offset;
  if (!request.cursor.empty()) {
    AG_ASSIGN_OR_RETURN(Place place, PlaceFromCursor(request.cursor));
    begin = listing.After(place);
    skip = SkipOf(request, place);
  }
  uint64_t passed = 0;
  size_t bytes_passed = 0;
  size_t bytes = 0;
  Place last;
  bool more = false;
  Status damage;
  AG_RETURN_IF_ERROR(
      snapshot.Scan(begin, listing.end(), [&](std::string_view key, std::string_view) {
        more = page.threads.size() == limit || bytes > kPageBytesMax ||
               bytes_passed > kThreadBytesPassedMax || passed == kRowsPassedMax;
        if (more) return false;
        ++passed;
        last = listing.Parse(key);
        if (request.search.empty() && !by_value && skip > 0) {
          --skip;
          return true;
        }
        Result<ThreadRow> thread = ReadThread(snapshot, body.scope, last.thread_id);
        if (by_value && thread.status().code() == StatusCode::kNotFound) return true;
        if (!thread.ok()) {
          damage = thread.status();
          return false;
        }
        const size_t thread_bytes = thread->metadata_json.size() + thread->name.size();
        bytes_passed += thread_bytes;
        if (!IsCurrent(*thread, last, request)) return true;
        if (!Matches(*thread, last.thread_id, request.search)) return true;
        if (skip > 0) {
          --skip;
          return true;
        }
        page.threads.push_back(thread->Record(last.thread_id));
        bytes += thread_bytes;
        return true;
      }));
  if (damage.code() == StatusCode::kUnavailable || damage.code() == StatusCode::kCancelled) {
    return damage;  // the database is away
  }
  if (!damage.ok()) return Status(StatusCode::kDataLoss, "stored state cannot be read back");
  if (more) {
    last.skip = skip;
    page.next_cursor = ToCursor(last);
  }
  return page;
}

}  // namespace agent_graph::state
