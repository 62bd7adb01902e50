// The version of these headers. It equals the version of the product; the build checks that.
#pragma once

#include <cstdint>

namespace agent_graph {

// major * 10000 + minor * 100 + patch. A graph runs on a server with the same major and minor.
inline constexpr uint32_t kSdkVersion = 200;

}  // namespace agent_graph
