#include "state/rows/numbering.h"

#include <algorithm>

#include "state/rows/keys.h"
#include "state/rows/rows.h"

namespace agent_graph::state {
namespace {

// Returns 0 if the row has no thread number.
uint64_t ThreadNumberOf(keys::Table table, std::string_view key, std::string_view value) {
  using keys::Table;
  switch (table) {
    case Table::kThread: {
      ThreadRow thread;
      return pack::FromBytes(value, thread) ? thread.number : 0;
    }
    case Table::kReply: {
      ReplyRow reply;
      return pack::FromBytes(value, reply) ? reply.thread_number : 0;
    }
    case Table::kCounters:
    case Table::kSnapshot:
    case Table::kWindow:
    case Table::kLog:
    case Table::kMessage:
    case Table::kMessageId:
    case Table::kLease:
    case Table::kDeleted:
    case Table::kLogCut:
    case Table::kPause:
    case Table::kOutsideChange:
    case Table::kRun:
    case Table::kRunRequest:
    case Table::kIndexedThread:
    case Table::kRunBase: {
      keys::Parser parser(key, table);
      const keys::ThreadKey thread = parser.Thread();
      return parser.ok() ? thread.number : 0;
    }
    default:
      return 0;
  }
}

uint64_t MemoryNumberOf(keys::Table table, std::string_view key, std::string_view value) {
  using keys::Table;
  switch (table) {
    case Table::kMemoryPlace: {
      MemoryKey memory;
      return pack::FromBytes(value, memory) ? memory.number : 0;
    }
    case Table::kMemory:
    case Table::kMemoryVector: {
      keys::Parser parser(key, table);
      const MemoryKey memory = parser.Memory();
      return parser.ok() ? memory.number : 0;
    }
    case Table::kMemoryListing: {
      keys::Parser parser(key, table);
      const uint64_t number = parser.Integer();
      return parser.ok() ? number : 0;
    }
    default:
      return 0;
  }
}

}  // namespace

void NumbersInUse::Add(std::string_view key, std::string_view value) {
  if (key.empty()) return;
  const auto table = static_cast<keys::Table>(key[0]);
  largest_thread_ = std::max(largest_thread_, ThreadNumberOf(table, key, value));
  largest_memory_ = std::max(largest_memory_, MemoryNumberOf(table, key, value));
}

void NumberSet::Add(uint64_t number) {
  std::vector<bool>& chunk = chunks_[number / kChunk];
  chunk.resize(kChunk);
  chunk[number % kChunk] = true;
}

bool NumberSet::Contains(uint64_t number) const {
  const auto chunk = chunks_.find(number / kChunk);
  return chunk != chunks_.end() && chunk->second[number % kChunk];
}

}  // namespace agent_graph::state
