// Reads rows over a connection.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/connection.h"
#include "state/postgres/rows/tables.h"
#include "state/rows/database.h"

namespace agent_graph::state::postgres {

// For one thread. Remembers the rows that were read in advance.
class SqlRowReads : public RowReads {
 public:
  // Executes commands in one round trip.
  using Send = std::function<Result<std::vector<Rows>>(const std::vector<Command>& commands)>;
  explicit SqlRowReads(Send send) : send_(std::move(send)) {}

  // The record of a thread is read together with its lease and its head rows.
  Result<std::optional<std::string>> Get(const std::string& key) const override;
  Status Scan(const std::string& begin, const std::string& end, const RowUse& row) const override;
  Status ScanBackwards(const std::string& begin, const std::string& end,
                       const RowUse& row) const override;
  // Like Scan; the first round trip reads `first_page` rows.
  Status ScanFrom(const std::string& begin, const std::string& end, size_t first_page,
                  const RowUse& row) const;

  using Page = std::vector<std::pair<std::string, std::string>>;  // keys and values
  // Returns up to `limit` rows of a range within one source.
  Result<Page> ReadPage(const RowSource& source, const std::string& begin, const std::string& end,
                        bool backwards, size_t limit) const;

  // Reads the rows of keys of one kind, in their order, in one round trip.
  Result<std::vector<std::optional<std::string>>> GetAll(
      const std::vector<std::string>& keys) const;

  // --- rows that are read in advance ---

  // Commands that read the records of threads and what belongs to them; `keys` are those of the
  // records. Take keeps their results, which begin at `results[0]`.
  static std::vector<Command> ThreadCommands(const std::vector<std::string>& keys);
  void TakeThreads(const std::vector<std::string>& keys, std::span<const Rows> results) const;
  void Know(std::string key, std::optional<std::string> value) const;
  bool Knows(const std::string& key) const { return known_.contains(key); }
  // Null: not known, or there is no such row.
  const std::string* Find(const std::string& key) const;
  // Rows that were read in advance; nullopt: there is no such row.
  const std::unordered_map<std::string, std::optional<std::string>>& known() const {
    return known_;
  }
  void Forget() {
    known_.clear();
    listed_.clear();
  }

 private:
  struct ScanOrder {
    bool backwards = false;
    size_t first_page = 0;
  };
  Status ScanRange(const std::string& begin, const std::string& end, const ScanOrder& order,
                   const RowUse& row) const;
  Result<bool> ScanSource(const RowSource& source, std::string begin, std::string end,
                          const ScanOrder& order, const RowUse& row) const;
  Result<std::optional<std::string>> ReadCounter(const char* sequence) const;
  std::string ValueOf(const RowSource& source, std::string_view key, std::string_view value) const;

  const Send send_;
  mutable std::unordered_map<std::string, std::optional<std::string>> known_;
  // Records of threads that a listing has returned lately.
  mutable std::unordered_map<std::string, std::string> listed_;
};

// Iterates over a range of `reads`, which must outlive it.
std::unique_ptr<RowCursor> NewRowCursor(const SqlRowReads& reads, std::string begin,
                                        std::string end);

}  // namespace agent_graph::state::postgres
