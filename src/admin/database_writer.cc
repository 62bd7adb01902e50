#include "admin/database_writer.h"

#include <utility>

#include "admin/database.h"
#include "base/version.h"
#include "state/postgres/import/imports_finished.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::admin {

using state::postgres::Membership;
using state::postgres::RowDatabase;

Result<std::unique_ptr<DatabaseWriter>> DatabaseWriter::Open(const std::string& url,
                                                             const std::string& purpose) {
  state::postgres::Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  state::postgres::MembershipOptions member;
  member.database = MaintenanceOptions(url);
  member.host = purpose;
  member.version = kVersion;
  auto membership = std::make_unique<Membership>(std::move(member));
  AG_RETURN_IF_ERROR(membership->Join());
  const Status finished = state::postgres::CheckImportsFinished(connection);
  if (!finished.ok()) {
    (void)membership->Leave();
    return finished;
  }
  state::postgres::RowDatabaseOptions options;
  options.connection = MaintenanceOptions(url);
  options.identity = {membership->id(), static_cast<uint64_t>(membership->incarnation()),
                      membership->history()};
  options.now = [clock = membership->clock()] { return clock->Now(); };
  std::unique_ptr<DatabaseWriter> writer(new DatabaseWriter());
  writer->database_ = std::make_unique<RowDatabase>(options);
  writer->membership_ = std::move(membership);
  return writer;
}

DatabaseWriter::~DatabaseWriter() {
  // If this fails, the hosts notice by the missing beats that this writer has gone.
  if (membership_ != nullptr) (void)membership_->Leave();
}

Status DatabaseWriter::KeepAlive() {
  AG_ASSIGN_OR_RETURN(const Membership::News news, membership_->Beat());
  if (!news.lost) return Status::Ok();
  return {StatusCode::kFenced,
          "the hosts that use the database took this program for dead: run it again"};
}

}  // namespace agent_graph::admin
