#include "graph/content_hash.h"

#include <cstdint>
#include <cstdio>

namespace agent_graph::graph {
namespace {

// FNV-1a with a final mix, so that short texts affect all bits.
uint64_t Hash(std::string_view content, uint64_t basis) {
  uint64_t hash = basis;
  for (unsigned char byte : content) hash = (hash ^ byte) * 0x100000001b3u;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

}  // namespace

std::string ContentHash(std::string_view content) {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx",
                static_cast<unsigned long long>(Hash(content, 0xcbf29ce484222325u)),
                static_cast<unsigned long long>(Hash(content, 0x9e3779b97f4a7c15u)));
  return text;
}

}  // namespace agent_graph::graph
