// The precompiled header of builds without ccache (AGENT_GRAPH_PRECOMPILED in cmake/Folder.cmake): headers
// that nearly all of our files include and that hardly ever change. No file may rely on it: builds with
// ccache are without it.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "agent_graph/json.h"
#include "agent_graph/message.h"
#include "agent_graph/node.h"
#include "agent_graph/run_context.h"
#include "base/status.h"

// precompiled_json.cc compiles these functions for all files.
extern template class nlohmann::basic_json<agent_graph::OrderedMap>;
extern template class nlohmann::detail::serializer<agent_graph::json>;
extern template class std::vector<agent_graph::json>;
