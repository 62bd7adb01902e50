// The format of batches in LevelDB's log. Each log record is one batch of rows:
//
//   sequence  8 bytes: number of the first row; each row takes one
//   count     4 bytes
//   rows      a type byte, the key and, unless the row is deleted, the value; key and value are
//             preceded by their lengths
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::state {

struct BatchHead {
  uint64_t sequence = 0;
  uint32_t count = 0;
};

// Returns nullopt if the record is too short for a batch.
std::optional<BatchHead> ReadBatchHead(std::string_view record);

// True if the record has exactly the number of rows that its head states.
bool IsWholeBatch(std::string_view record);

}  // namespace agent_graph::state
