// Tables of the queries and headers of runs.
#pragma once

#include <array>
#include <string_view>

#include "api/http/fields.h"
#include "api/resources/request_shapes.h"
#include "state/runs.h"

namespace agent_graph::api {

// In the order of state::RunState.
inline constexpr std::array<std::string_view, 6> kRunStates = {"queued", "running", "interrupted",
                                                               "done",   "error",   "stopped"};
inline constexpr std::array<std::string_view, 2> kFramings = {"ndjson", "sse"};
inline constexpr std::array<std::string_view, 2> kCursorChoices = {"messages", "all"};

inline constexpr Field kRunStateFilter{.name = "status",
                                       .type = FieldType::kChoice,
                                       .description = "Only runs in this state",
                                       .choices = kRunStates};
inline constexpr Field kWaitSeconds{
    .name = "timeout",
    .type = FieldType::kInteger,
    .description =
        "Seconds to wait for the end of the run. Proxies between may end a request "
        "earlier",
    .minimum = 0,
    .maximum = 300,
    .fallback = 60,
    .has_fallback = true};
inline constexpr Field kAfterCursor{
    .name = "after",
    .type = FieldType::kText,
    .description =
        "The cursor of the last line that was received, as in the header "
        "`Last-Event-ID`; `-1` or absent: the beginning",
    .maximum = 256};
inline constexpr Field kFraming{.name = "framing",
                                .type = FieldType::kChoice,
                                .description = "`sse`: server-sent events instead of lines",
                                .fallback = 0,
                                .has_fallback = true,
                                .choices = kFramings};
inline constexpr Field kCursors{
    .name = "cursors",
    .type = FieldType::kChoice,
    .description =
        "`all`: every delta of an accepted run has `metadata.cursor`, not only the "
        "first one of a message",
    .fallback = 0,
    .has_fallback = true,
    .choices = kCursorChoices};

inline constexpr Field kIdempotencyKey{
    .name = "Idempotency-Key",
    .type = FieldType::kText,
    .description =
        "1 to 255 bytes. Another request with this key and the same body gets the run "
        "of the first one",
    .maximum = state::kRunKeyBytesMax};
inline constexpr Field kLastEventId{
    .name = "Last-Event-ID",
    .type = FieldType::kText,
    .description = "The last `id` that was received; it has priority over `after`",
    .maximum = kAfterCursor.maximum};
inline constexpr Field kRunLocation{
    .name = "Location",
    .type = FieldType::kText,
    .description = "Path of the run's stream; absent without a checkpointer"};
inline constexpr std::array kRunRequestHeaders = {kIdempotencyKey};
inline constexpr std::array kRunStreamRequestHeaders = {kLastEventId};
inline constexpr std::array kRunResponseHeaders = {kRunLocation};

extern const FieldTable kRunListQuery;
extern const FieldTable kRunWaitQuery;
extern const FieldTable kRunStreamQuery;
extern const FieldTable kGraphStreamQuery;  // for POST /v1/graph/stream

}  // namespace agent_graph::api
