// The version of these headers, which is the product's: the build checks that both agree.
#pragma once

#include <cstdint>

namespace agent_graph {

// major * 10000 + minor * 100 + patch. A graph runs on a server with the same major and minor.
inline constexpr uint32_t kSdkVersion = 100;

}  // namespace agent_graph
