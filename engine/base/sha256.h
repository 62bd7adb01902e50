#pragma once

#include <array>
#include <string>
#include <string_view>

namespace agent_graph {

using Sha256Digest = std::array<unsigned char, 32>;

Sha256Digest Sha256(std::string_view bytes);
std::string Sha256Hex(std::string_view bytes);  // 64 lower-case digits

}  // namespace agent_graph
