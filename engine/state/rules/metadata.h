// Metadata of threads as text, for searches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "state/types.h"

namespace agent_graph::state {

// A longer value is not indexed, and no search finds it.
inline constexpr size_t kMetadataValueBytesMax = 512;

// Returns the values that a thread's metadata has for these names, in their order: a text as it is,
// a number, true and false as JSON. Other values, and longer ones, are left out.
std::vector<MetadataValue> MetadataValuesOf(const std::string& metadata_json,
                                            const std::vector<std::string>& names);

// True if the metadata has each of these values.
bool HasMetadata(const std::string& metadata_json, const std::vector<MetadataValue>& values);

}  // namespace agent_graph::state
