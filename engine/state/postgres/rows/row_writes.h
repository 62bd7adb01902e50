// Writes of rows as SQL commands.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "state/postgres/database/value.h"
#include "state/rows/database.h"
#include "state/search/memory_rows.h"

namespace agent_graph::state::postgres {

class SqlRowBatch : public RowBatch {
 public:
  void Put(std::string_view key, std::string_view value) override;
  void Delete(std::string_view key) override;
  void Clear() override;
  size_t bytes() const override { return bytes_; }
  void ForEach(
      const std::function<void(std::string_view key, std::optional<std::string_view> value)>& use)
      const override;

  // The memories whose records or vectors change. May repeat a memory.
  std::vector<MemoryKey> ChangedMemories() const;
  // The last change of each key.
  std::map<std::string_view, const std::optional<std::string>*> Latest() const;

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> changes_;
  size_t bytes_ = 0;
};

// Returns the commands that write the batch. kDataLoss: a row is not one that keys.h describes.
Result<std::vector<Command>> WriteCommands(const SqlRowBatch& batch);

}  // namespace agent_graph::state::postgres
