// Built-in tools, for graphs in the declarative form.
//
//   calculator    {"expression": "2 * (3 + 4)"} → 14
//   current_time  {"utc_offset_minutes": 120}   → {"time": "2026-06-16T14:00:00",
//                                                  "utc_offset_minutes": 120}
//   remember      {"content": "likes tea", "category": "taste"} → {"memory_id": "…"}
//   recall        {"query": "which tea?", "limit": 3} → {"memories": [{"content": …, "category": …,
//                                                  "score": …, "timestamp": …}]}
//
// The last two need a memory store; the memories belong to the user of the run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/tool.h"
#include "base/status.h"

namespace agent_graph::tools {

const Tool* FindBuiltin(std::string_view name);  // null if there is no such tool
std::vector<std::string> BuiltinNames();

// Supports numbers, + - * / % ^ (power, right-associative), unary minus and parentheses. Returns
// kInvalidArgument that describes the error.
Result<double> Calculate(std::string_view expression);

}  // namespace agent_graph::tools
