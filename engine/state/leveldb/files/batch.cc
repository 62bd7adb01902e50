#include "state/leveldb/files/batch.h"

#include "state/leveldb/files/varints.h"

namespace agent_graph::state {
namespace {

constexpr uint64_t kValue = 1;  // type of a written row; 0 is a deletion

}  // namespace

std::optional<BatchHead> ReadBatchHead(std::string_view record) {
  VarintParser parser(record);
  BatchHead head;
  head.sequence = parser.Take(8);
  head.count = static_cast<uint32_t>(parser.Take(4));
  if (!parser.ok()) return std::nullopt;
  return head;
}

bool IsWholeBatch(std::string_view record) {
  VarintParser parser(record);
  parser.Take(8);
  const uint64_t count = parser.Take(4);
  for (uint64_t row = 0; row < count && parser.ok(); ++row) {
    const uint64_t type = parser.Take(1);
    if (type > kValue) return false;
    parser.Text();
    if (type == kValue) parser.Text();
  }
  return parser.ok() && parser.at_end();
}

}  // namespace agent_graph::state
