// LevelDB's types and ours.
#pragma once

#include <leveldb/slice.h>
#include <leveldb/status.h>

#include <string_view>

#include "base/status.h"

namespace agent_graph::state {

// kDataLoss for damaged files, kUnavailable for everything else.
Status FromLevelDb(const leveldb::Status& status);

inline leveldb::Slice ToSlice(std::string_view text) {
  return {text.data(), text.size()};
}
inline std::string_view ToView(const leveldb::Slice& slice) {
  return {slice.data(), slice.size()};
}

}  // namespace agent_graph::state
