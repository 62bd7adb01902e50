// The sum of the sizes of all files, which each upload compares with media.total_size_mb.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kFileSizesStep[] = R"sql(
-- Without it the sum reads the rows themselves, with their records and texts.
CREATE INDEX file_size ON agent_graph.file (size);
-- Of the first step; never used.
DROP SEQUENCE agent_graph.executor_epoch;
)sql";

}  // namespace agent_graph::state::postgres
