// The only parser of JSON from outside. It limits depth, number of values and bytes before a tree
// exists, because a deep tree overflows the stack when it is copied or printed.
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
  bool unique_keys = false;  // a duplicate key is an error; the message contains its path
};

// Parses strict RFC 8259 text in UTF-8. Failures are kInvalidArgument with a position.
Result<json> ParseJson(std::string_view text, const JsonLimits& limits = {});

// Compact, on one line; invalid UTF-8 is replaced by U+FFFD. Never throws, never writes a newline.
std::string DumpJson(const json& value);

// Like DumpJson, with the members of objects sorted by key: equal values give equal texts.
std::string DumpSortedJson(const json& value);

// Appends `text` as a JSON string literal with quotes; invalid UTF-8 becomes U+FFFD. Used for each
// streamed token, where building a tree would cost more than the token itself.
void AppendJsonString(std::string& out, std::string_view text);

}  // namespace agent_graph
