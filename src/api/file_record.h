// Files as the routes show them.
#pragma once

#include <optional>
#include <string>

#include "api/context.h"
#include "media/storage.h"

namespace agent_graph::api {

// What a caller may read.
media::Reader ReaderOf(const HandlerContext& context);

// A file that the caller gives: of the type that is told, if that is one, else by its name's
// extension.
media::FileRecord NewFileRecord(const HandlerContext& context, const std::string& content_type,
                                const std::string& filename);
// Why a file that is given is not taken.
ErrorInfo FileTooLarge(const settings::MediaSettings& media);
ErrorInfo TypeRefused(const media::FileRecord& record);

// The path that a file is read from at the location that was asked.
std::string FilePath(const HandlerContext& context, const std::string& file_id);

// With `text` what was extracted from it.
std::string UploadedJson(const HandlerContext& context, const media::FileRecord& record,
                         const std::optional<std::string>& text,
                         const std::optional<media::DirectUrl>& direct);

}  // namespace agent_graph::api
