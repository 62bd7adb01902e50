#include "admin/import_target.h"

#include <utility>

#include "admin/database.h"
#include "base/version.h"
#include "state/leveldb/database/database.h"
#include "state/postgres/rows/row_database.h"
#include "state/postgres/schema/migration.h"

namespace agent_graph::admin {

using state::postgres::Connection;
using state::postgres::Membership;
using state::postgres::MembershipOptions;
using state::postgres::RowDatabase;
using state::postgres::RowDatabaseOptions;

Result<ImportTarget> ImportTarget::Open(const std::string& target) {
  ImportTarget opened;
  AG_RETURN_IF_ERROR(NamesDatabase(target) ? opened.OpenDatabase(target)
                                           : opened.OpenDirectory(target));
  return opened;
}

ImportTarget::~ImportTarget() {
  // Without it the other hosts find out by themselves.
  if (membership_ != nullptr) (void)membership_->Leave();
}

Status ImportTarget::OpenDatabase(const std::string& target) {
  AG_ASSIGN_OR_RETURN(const std::string url, DatabaseUrlOf(target));
  Connection connection(MaintenanceOptions(url));
  AG_RETURN_IF_ERROR(state::postgres::CheckSchema(connection));
  MembershipOptions member;
  member.database = MaintenanceOptions(url);
  member.host = "import";
  member.version = kVersion;
  auto membership = std::make_unique<Membership>(std::move(member));
  AG_RETURN_IF_ERROR(membership->Join());
  RowDatabaseOptions options;
  options.connection = MaintenanceOptions(url);
  options.identity = {membership->id(), static_cast<uint64_t>(membership->incarnation())};
  database_ = std::make_unique<RowDatabase>(options);
  membership_ = std::move(membership);
  return Status::Ok();
}

Status ImportTarget::OpenDirectory(const std::string& path) {
  AG_ASSIGN_OR_RETURN(StateAccess access, StateAccess::Open(path));
  if (access.is_backup()) return InvalidArgument(path + " is a backup, not the state of a service");
  if (!access.stopped()) return {StatusCode::kBusy, "the state is in use: stop nginx first"};
  AG_ASSIGN_OR_RETURN(database_,
                      state::LevelDatabase::OpenDirectory(access.directory().database_path()));
  directory_.emplace(std::move(access));
  return Status::Ok();
}

Status ImportTarget::KeepAlive() {
  if (membership_ == nullptr) return Status::Ok();
  AG_ASSIGN_OR_RETURN(const Membership::News news, membership_->Beat());
  if (!news.lost) return Status::Ok();
  return {StatusCode::kFenced,
          "the hosts that use the database took this program for dead: run it again"};
}

}  // namespace agent_graph::admin
