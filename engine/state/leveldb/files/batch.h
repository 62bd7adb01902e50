// The batches in LevelDB's log: each record is one batch of rows.
//
//   sequence  8 bytes, of the first row; each row takes one
//   count     4 bytes
//   rows      a type byte, the key and, unless the row is deleted, the value; each with its length
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::state {

struct BatchHead {
  uint64_t sequence = 0;
  uint32_t count = 0;
};

// nullopt: too short for a batch.
std::optional<BatchHead> ReadBatchHead(std::string_view record);

// It has as many rows as its head says, and nothing else.
bool IsWholeBatch(std::string_view record);

}  // namespace agent_graph::state
