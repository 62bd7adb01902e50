// Threads, runs and leases.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kRowsStep[] = R"sql(
SELECT 1;
)sql";

}  // namespace agent_graph::state::postgres
