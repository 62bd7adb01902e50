#include "state/postgres/rows/row_reads.h"

#include <algorithm>
#include <deque>

#include "state/pack/fields.h"
#include "state/rows/numbering.h"

namespace agent_graph::state::postgres {
namespace {

using keys::Table;

constexpr size_t kPageMin = 32;
constexpr size_t kPageMax = 4096;
constexpr size_t kListedMax = 1024;
// Pages grow until they have about this size.
constexpr size_t kPageBytes = 512 * 1024;
constexpr size_t kPageGrowth = 4;

bool IsListing(const RowSource& source) {
  return source.kind == Table::kListing || source.kind == Table::kListingByOwner;
}

bool IsMetadata(const RowSource& source) {
  return source.kind == Table::kMetadata || source.kind == Table::kMetadataByOwner;
}

// The key of the record to which a row of the index of metadata leads.
std::string ThreadIn(const RowSource& source, const std::string& key) {
  keys::Parser parser(key, source.kind);
  if (source.kind == Table::kMetadataByOwner) parser.Text();
  parser.Text();
  parser.Text();
  parser.NewestFirst();
  return keys::Thread(parser.Text());
}

// The number of rows to read after a page of `rows` rows.
size_t NextPage(size_t rows, size_t bytes, size_t rows_max) {
  const size_t fitting = rows * kPageBytes / std::max<size_t>(bytes, 1);
  return std::min({rows * kPageGrowth, std::max(fitting, kPageMin), rows_max});
}

std::string PageText(const RowSource& source, bool backwards) {
  const std::string key = source.key;
  return "SELECT " + key + ", " + source.value + " FROM agent_graph." + source.table + " WHERE " +
         key + " >= $1 AND " + key + " < $2 ORDER BY " + key + (backwards ? " DESC" : "") +
         " LIMIT $3";
}

std::string PrefixOf(const RowSource& source) {
  return keys::TablePrefix(source.kind);
}

std::string HeadKindList() {
  std::string list;
  for (const Table kind : HeadKinds()) list.push_back(static_cast<char>(kind));
  return list;
}

std::vector<std::string> HeadPrefixes() {
  std::vector<std::string> prefixes;
  for (const char kind : HeadKindList()) prefixes.emplace_back(1, kind);
  return prefixes;
}

}  // namespace

Result<std::optional<std::string>> SqlRowReads::Get(const std::string& key) const {
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if (const auto listed = listed_.find(key); listed != listed_.end()) {
    return std::optional(listed->second);
  }
  // Sequences take the place of the rows of counters.
  if (key == keys::Meta(kNextThreadName)) return ReadCounter("thread_number");
  if (key == keys::Meta(kNextMemoryName)) return ReadCounter("memory_number");
  const RowSource* source = SourceOf(key);
  if (source == nullptr) return std::optional<std::string>();
  if (source->kind == Table::kThread) {
    AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, send_(ThreadCommands({key})));
    TakeThreads({key}, results);
    return known_.at(key);
  }
  const Command command{std::string("SELECT ") + source->value + " FROM agent_graph." +
                            source->table + " WHERE " + source->key + " = $1",
                        {Value::Bytes(key)}};
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, send_({command}));
  const Rows& rows = results.front();
  if (rows.empty()) return std::optional<std::string>();
  return std::optional(ValueOf(*source, key, rows[0].Bytes(0)));
}

Result<std::optional<std::string>> SqlRowReads::ReadCounter(const char* sequence) const {
  const Command command{
      std::string("SELECT last_value + CASE WHEN is_called THEN 1 ELSE 0 END FROM agent_graph.") +
      sequence};
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, send_({command}));
  return std::optional(pack::ToBytes(results.front()[0].Number(0)));
}

Result<std::vector<std::optional<std::string>>> SqlRowReads::GetAll(
    const std::vector<std::string>& keys) const {
  std::vector<std::optional<std::string>> values(keys.size());
  const RowSource* source = keys.empty() ? nullptr : SourceOf(keys.front());
  if (source == nullptr) return values;
  AG_ASSIGN_OR_RETURN(
      const std::vector<Rows> results,
      send_({{std::string("SELECT wanted.n, r.") + source->value + " FROM unnest($1::bytea[]) " +
                  "WITH ORDINALITY AS wanted (key, n) JOIN agent_graph." + source->table +
                  " AS r ON r." + source->key + " = wanted.key",
              {Value::BytesArray(keys)}}}));
  const Rows& rows = results.front();
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t place = rows[i].Number(0) - 1;
    values[place] = ValueOf(*source, keys[place], rows[i].Bytes(1));
  }
  return values;
}

Status SqlRowReads::Scan(const std::string& begin, const std::string& end,
                         const RowUse& row) const {
  return ScanFrom(begin, end, kPageMin, row);
}

Status SqlRowReads::ScanBackwards(const std::string& begin, const std::string& end,
                                  const RowUse& row) const {
  return ScanRange(begin, end, {.backwards = true, .first_page = kPageMin}, row);
}

Status SqlRowReads::ScanFrom(const std::string& begin, const std::string& end, size_t first_page,
                             const RowUse& row) const {
  return ScanRange(begin, end, {.backwards = false, .first_page = first_page}, row);
}

Status SqlRowReads::ScanRange(const std::string& begin, const std::string& end,
                              const ScanOrder& order, const RowUse& row) const {
  const std::span<const RowSource> sources = RowSources();
  for (size_t i = 0; i < sources.size(); ++i) {
    const RowSource& source = sources[order.backwards ? sources.size() - 1 - i : i];
    const std::string prefix = PrefixOf(source);
    const std::string prefix_end = keys::PrefixEnd(prefix);
    const std::string from = std::max(begin, prefix);
    const std::string to = end.empty() ? prefix_end : std::min(end, prefix_end);
    if (from >= to) continue;
    AG_ASSIGN_OR_RETURN(const bool goes_on, ScanSource(source, from, to, order, row));
    if (!goes_on) break;
  }
  return Status::Ok();
}

Result<bool> SqlRowReads::ScanSource(const RowSource& source, std::string begin, std::string end,
                                     const ScanOrder& order, const RowUse& row) const {
  // All records of a page of a listing are kept.
  const size_t limit_max = IsListing(source) || IsMetadata(source) ? kListedMax / 2 : kPageMax;
  for (size_t limit = std::min(order.first_page, limit_max);;) {
    AG_ASSIGN_OR_RETURN(const Page page, ReadPage(source, begin, end, order.backwards, limit));
    size_t bytes = 0;
    for (const auto& [key, value] : page) {
      bytes += key.size() + value.size();
      if (!row(key, value)) return false;
    }
    if (page.size() < limit) return true;
    if (order.backwards) {
      end = page.back().first;
    } else {
      begin = page.back().first + '\0';
    }
    limit = NextPage(page.size(), bytes, limit_max);
  }
}

Result<SqlRowReads::Page> SqlRowReads::ReadPage(const RowSource& source, const std::string& begin,
                                                const std::string& end, bool backwards,
                                                size_t limit) const {
  const Command command{PageText(source, backwards),
                        {Value::Bytes(begin), Value::Bytes(end), Value::Number(limit)}};
  AG_ASSIGN_OR_RETURN(const std::vector<Rows> results, send_({command}));
  const Rows& rows = results.front();
  Page page;
  page.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    std::string key(rows[i].Bytes(0));
    std::string value = ValueOf(source, key, rows[i].Bytes(1));
    page.emplace_back(std::move(key), std::move(value));
  }
  if (!IsMetadata(source)) return page;
  // Kept for the caller, as those of a listing are.
  std::vector<std::string> threads;
  threads.reserve(page.size());
  for (const auto& [key, value] : page) threads.push_back(ThreadIn(source, key));
  AG_ASSIGN_OR_RETURN(std::vector<std::optional<std::string>> records, GetAll(threads));
  if (listed_.size() + page.size() > kListedMax) listed_.clear();
  for (size_t i = 0; i < threads.size(); ++i) {
    if (records[i]) listed_.insert_or_assign(threads[i], *std::move(records[i]));
  }
  return page;
}

std::string SqlRowReads::ValueOf(const RowSource& source, std::string_view key,
                                 std::string_view value) const {
  if (source.kind == Table::kMessageId) {
    keys::Parser parser(value, Table::kMessage);
    parser.Thread();
    return pack::ToBytes(parser.Integer());
  }
  if (IsListing(source)) {
    // A caller that reads a listing reads the records of its threads next, so they are kept for it.
    keys::Parser parser(key, source.kind);
    if (source.kind == Table::kListingByOwner) parser.Text();
    parser.NewestFirst();
    if (listed_.size() >= kListedMax) listed_.clear();
    listed_.insert_or_assign(keys::Thread(parser.Text()), std::string(value));
    return {};
  }
  return std::string(value);
}

std::vector<Command> SqlRowReads::ThreadCommands(const std::vector<std::string>& keys) {
  const Value threads = Value::BytesArray(keys);
  return {
      {"SELECT key, place, value FROM agent_graph.thread WHERE key = ANY($1)", {threads}},
      {"SELECT lease_key, value FROM agent_graph.lease "
       "WHERE thread = ANY($1) AND lease_key IS NOT NULL",
       {threads}},
      {"SELECT h.key, h.value FROM agent_graph.thread t CROSS JOIN unnest($2::bytea[]) AS kind "
       "JOIN agent_graph.head h ON h.key = kind || t.place WHERE t.key = ANY($1)",
       {threads, Value::BytesArray(HeadPrefixes())}},
  };
}

void SqlRowReads::TakeThreads(const std::vector<std::string>& keys,
                              std::span<const Rows> results) const {
  for (const std::string& key : keys) Know(key, std::nullopt);
  const Rows& threads = results[0];
  for (size_t i = 0; i < threads.size(); ++i) {
    Know(std::string(threads[i].Bytes(0)), std::string(threads[i].Bytes(2)));
    const std::string place(threads[i].Bytes(1));
    Know(static_cast<char>(Table::kLease) + place, std::nullopt);
    for (const char kind : HeadKindList()) Know(kind + place, std::nullopt);
  }
  for (const Rows& rows : results.subspan(1, 2)) {
    for (size_t i = 0; i < rows.size(); ++i) {
      Know(std::string(rows[i].Bytes(0)), std::string(rows[i].Bytes(1)));
    }
  }
}

void SqlRowReads::Know(std::string key, std::optional<std::string> value) const {
  known_.insert_or_assign(std::move(key), std::move(value));
}

const std::string* SqlRowReads::Find(const std::string& key) const {
  const auto known = known_.find(key);
  return known != known_.end() && known->second ? &*known->second : nullptr;
}

namespace {

class Cursor : public RowCursor {
 public:
  Cursor(const SqlRowReads& reads, std::string begin, std::string end)
      : reads_(reads), begin_(std::move(begin)), end_(std::move(end)) {
    Fill();
  }

  bool Valid() const override { return !page_.empty(); }
  std::string_view key() const override { return page_.front().first; }
  std::string_view value() const override { return page_.front().second; }
  void Next() override {
    begin_ = page_.front().first + '\0';
    page_.pop_front();
    if (page_.empty()) Fill();
  }
  Status status() const override { return status_; }

 private:
  void Fill() {
    size_t bytes = 0;
    status_ =
        reads_.ScanFrom(begin_, end_, rows_, [&](std::string_view key, std::string_view value) {
          page_.emplace_back(key, value);
          bytes += key.size() + value.size();
          return page_.size() < rows_;
        });
    if (!status_.ok()) page_.clear();
    rows_ = NextPage(rows_, bytes, kPageMax);
  }

  const SqlRowReads& reads_;
  std::string begin_;
  const std::string end_;
  size_t rows_ = kPageMin;  // rows of the next page
  std::deque<std::pair<std::string, std::string>> page_;
  Status status_;
};

}  // namespace

std::unique_ptr<RowCursor> NewRowCursor(const SqlRowReads& reads, std::string begin,
                                        std::string end) {
  return std::make_unique<Cursor>(reads, std::move(begin), std::move(end));
}

}  // namespace agent_graph::state::postgres
