// How a run ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace agent_graph::run {

enum class RunStatus : uint8_t { kDone, kError, kStopped, kInterrupted };

// The name in logs and on the wire: "done", "error", "stopped", "interrupted".
const char* RunStatusName(RunStatus status);
std::optional<RunStatus> ParseRunStatus(std::string_view name);

}  // namespace agent_graph::run
