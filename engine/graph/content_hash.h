// A hash that distinguishes versions of a graph's file. It does not protect against forgery.
#pragma once

#include <string>
#include <string_view>

namespace agent_graph::graph {

std::string ContentHash(std::string_view content);  // 32 lower-case hex digits

}  // namespace agent_graph::graph
