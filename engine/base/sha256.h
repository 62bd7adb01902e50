#pragma once

#include <string>
#include <string_view>

namespace agent_graph {

std::string Sha256Hex(std::string_view bytes);  // 64 lower-case digits

}  // namespace agent_graph
