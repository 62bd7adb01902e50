// How imports from other databases recognise their source.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kImportsStep[] = R"sql(
-- Of the rows before next_key. An import goes on only if its source still has these rows.
ALTER TABLE agent_graph.import ADD COLUMN digest bytea NOT NULL DEFAULT '';
)sql";

}  // namespace agent_graph::state::postgres
