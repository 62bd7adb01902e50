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
  const bool is_first = !connection_->in_transaction();
  std::vector<Command> all;
  if (is_first) {
    connection_->Begin();
    all.push_back({"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"});
    all.insert(all.end(), commands.begin(), commands.end());
  }
  Result<std::vector<Rows>> results = connection_->ExecuteAll(is_first ? all : commands);
  status_ = results.status();
  if (results.ok() && is_first) results->erase(results->begin());
  return results;
}

}  // namespace agent_graph::state::postgres
