// Stores a small text file, as an upload does.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "media/storage.h"

namespace agent_graph::media {

inline Result<FileRecord> KeepFile(Storage& storage, std::string_view bytes, std::string owner = "",
                                   const std::optional<std::string>& text = {}) {
  AG_ASSIGN_OR_RETURN(Spool spool, storage.Receive());
  AG_RETURN_IF_ERROR(spool.Write(bytes));
  FileRecord record;
  record.file_id = NewHexId();
  record.owner = std::move(owner);
  record.mime_type = "text/plain";
  record.filename = "a.txt";
  AG_RETURN_IF_ERROR(storage.Keep(spool, record, text));
  return record;
}

}  // namespace agent_graph::media
