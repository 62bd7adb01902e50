// Cursors of clients from before a restore from a backup.
#include "state/postgres/schema/steps.h"

namespace agent_graph::state::postgres {

const char kRestoresStep[] = R"sql(
-- Part of every cursor that clients get. Changes with a restore, because the database then gives the
-- same places of logs again.
ALTER TABLE agent_graph.cluster ADD COLUMN cursor_mark bigint NOT NULL DEFAULT 0;
)sql";

}  // namespace agent_graph::state::postgres
