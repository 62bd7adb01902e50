#include "api/resources/run_shapes.h"

#include "api/http/validation.h"

namespace agent_graph::api {
namespace {

using enum FieldType;

constexpr std::array kRunListFields = {
    kRunStateFilter,
    Field{.name = "limit",
          .type = kInteger,
          .description = "Runs to return; values above 1000 count as 1000",
          .minimum = 1,
          .fallback = static_cast<int64_t>(kPageLimitDefault),
          .has_fallback = true},
    Field{.name = "cursor", .type = kText, .description = "`next_cursor` of the previous page"},
};

constexpr std::array kRunWaitFields = {kWaitSeconds, kResponseGranularity};
constexpr std::array kRunStreamFields = {kAfterCursor, kResponseGranularity};
constexpr std::array kGraphStreamFields = {kFraming, kCursors};

}  // namespace

const FieldTable kRunListQuery{"RunList", kRunListFields};
const FieldTable kRunWaitQuery{"RunWait", kRunWaitFields};
const FieldTable kRunStreamQuery{"RunStream", kRunStreamFields};
const FieldTable kGraphStreamQuery{"GraphStream", kGraphStreamFields};

}  // namespace agent_graph::api
