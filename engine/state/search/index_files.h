// The files in which approximate indexes are saved: for each index a file, and beside it its seal.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "state/pack/fields.h"
#include "state/search/memory_rows.h"

namespace agent_graph::state {

// Stored beside the index file to verify it. The file is read only if length and checksum match,
// because hnswlib does not validate what it reads.
struct Seal {
  std::string space;
  uint64_t dimensions = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;
};
template <pack::SameAs<Seal> T>
auto Fields(T& seal) {
  return std::tie(seal.space, seal.dimensions, seal.bytes, seal.checksum);
}

std::string SealOf(const std::string& file);
// A file is written under this name and renamed when it is complete.
std::string DraftOf(const std::string& file);
// Returns nullopt if there is no seal, or if it is damaged.
std::optional<Seal> ReadSeal(const std::string& file);

// Name of the index of a scope, and the file in which `directory` keeps it. Seal::space is this
// name, a space, and the space of the vectors.
std::string IndexNameOf(const std::optional<std::string>& owner);  // nullopt: all owners
std::string IndexFileOf(const std::string& directory, const std::string& name);

// Deletes the files of owners who have no memories any more, and those that a killed process has
// not finished: drafts, and indexes without a readable seal. Nobody searches for such owners, so
// nothing else would notice. Call it before indexes are saved: it deletes every draft. Blocks; ends
// soon after `stopping` is set.
void RemoveUnusedIndexes(const MemoryRows& rows, const std::string& directory,
                         const std::atomic<bool>& stopping);

}  // namespace agent_graph::state
