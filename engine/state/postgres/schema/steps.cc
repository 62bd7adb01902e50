#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {
namespace {

constexpr SchemaStep kSteps[] = {
    {.number = 1, .usable_from = 1, .name = "instances", .script = kInstancesStep},
    {.number = 2, .usable_from = 1, .name = "rows", .script = kRowsStep},
    {.number = 3, .usable_from = 1, .name = "memories", .script = kMemoriesStep},
    {.number = 4, .usable_from = 1, .name = "files", .script = kFilesStep},
    // An older build changes threads without counting their versions.
    {.number = 5, .usable_from = 5, .name = "versions", .script = kVersionsStep},
    {.number = 6, .usable_from = 5, .name = "restores", .script = kRestoresStep},
    {.number = 7, .usable_from = 5, .name = "imports", .script = kImportsStep},
    {.number = 8, .usable_from = 5, .name = "file sizes", .script = kFileSizesStep},
};

}  // namespace

std::span<const SchemaStep> SchemaSteps() {
  return kSteps;
}

}  // namespace agent_graph::state::postgres
