#include "admin/import_target.h"

#include <utility>

#include "admin/database.h"
#include "state/leveldb/database/database.h"

namespace agent_graph::admin {

Result<ImportTarget> ImportTarget::Open(const std::string& target) {
  ImportTarget opened;
  if (NamesDatabase(target)) {
    AG_ASSIGN_OR_RETURN(const std::string url, DatabaseUrlOf(target));
    AG_ASSIGN_OR_RETURN(opened.shared_, DatabaseWriter::Open(url, "import"));
  } else {
    AG_RETURN_IF_ERROR(opened.OpenDirectory(target));
  }
  return opened;
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

}  // namespace agent_graph::admin
