// Files as the routes show them.
#pragma once

#include <optional>
#include <string>

#include "api/context.h"
#include "media/storage.h"

namespace agent_graph::api {

// What a caller may read.
media::Reader ReaderOf(const HandlerContext& context);

// The path that a file is read from.
std::string FilePath(const std::string& file_id);

// With `text` what was extracted from it.
std::string UploadedJson(const media::FileRecord& record, const std::optional<std::string>& text,
                         const std::optional<media::DirectUrl>& direct);

}  // namespace agent_graph::api
