#include "state/postgres/rows/row_view.h"

namespace agent_graph::state::postgres {

RowView::RowView(ConnectionPool& pool)
    : pool_(pool), reads_([this](const std::vector<Command>& commands) { return Send(commands); }) {
  Result<Connection*> connection = pool_.Take();
  if (connection.ok()) {
    connection_ = *connection;
  } else {
    status_ = connection.status();
  }
}

RowView::~RowView() {
  if (connection_ == nullptr) return;
  if (connection_->in_transaction()) connection_->Rollback();
  pool_.Return(connection_);
}

Result<std::vector<Rows>> RowView::Send(const std::vector<Command>& commands) const {
  AG_RETURN_IF_ERROR(status_);
  if (connection_->in_transaction()) return connection_->ExecuteAll(commands);
  connection_->Begin();
  std::vector<Command> all = {{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"}};
  all.insert(all.end(), commands.begin(), commands.end());
  AG_ASSIGN_OR_RETURN(std::vector<Rows> results, connection_->ExecuteAll(all));
  results.erase(results.begin());
  return results;
}

}  // namespace agent_graph::state::postgres
