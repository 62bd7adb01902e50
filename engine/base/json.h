// JSON from outside is parsed here and nowhere else: depth, values and bytes are bounded before a
// tree exists, because a deep tree overflows the stack when it is copied or printed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "agent_graph/json_fwd.h"
#include "base/status.h"

namespace agent_graph {

struct JsonLimits {
  size_t depth_max = 128;
  size_t values_max = 100'000;
  bool unique_keys = false;  // a key that an object has twice is an error, which names its path
};

// Strict RFC 8259 text in UTF-8. Failure is kInvalidArgument with a position.
Result<json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Compact, one line, invalid UTF-8 replaced by U+FFFD: never throws, never emits a newline.
std::string DumpJson(const json& value);

// As DumpJson, with the members of objects sorted: equal values have equal texts.
std::string DumpSortedJson(const json& value);

// Appends `text` as a JSON string literal, quotes included; invalid UTF-8 becomes U+FFFD. For the
// token path, where building a tree per chunk costs more than the chunk.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace agent_graph
