#include "state/postgres/import/imports_finished.h"

#include <string>

namespace agent_graph::state::postgres {

Status CheckImportsFinished(Connection& connection) {
  // Rows without a digest come from the version before, which let hosts use the database.
  AG_ASSIGN_OR_RETURN(const Rows rows,
                      connection.Execute({"SELECT source FROM agent_graph.import "
                                          "WHERE NOT complete AND digest <> '' LIMIT 1"}));
  if (rows.empty()) return Status::Ok();
  return {StatusCode::kNotConfigured,
          "the import of " + std::string(rows[0].Text(0)) +
              " into the database is not complete: run agent-graph-admin import again"};
}

}  // namespace agent_graph::state::postgres
