#include "state/leveldb/database/conversions.h"

namespace agent_graph::state {

Status FromLevelDb(const leveldb::Status& status) {
  if (status.ok()) return Status::Ok();
  StatusCode code = status.IsCorruption() ? StatusCode::kDataLoss : StatusCode::kUnavailable;
  const char* text = status.IsCorruption() ? "stored state cannot be read back"
                                           : "the state database does not answer";
  return Status(code, text).WithDetail(status.ToString());
}

}  // namespace agent_graph::state
