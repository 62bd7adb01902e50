// File records as the routes use them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/context.h"
#include "media/storage.h"

namespace agent_graph::api {

// Returns the reader, which determines the files that the caller may read.
media::Reader ReaderOf(const HandlerContext& context);

// Makes the record of a file that the caller uploads. Its type is `content_type` if that is valid,
// otherwise it depends on the extension of the name.
media::FileRecord NewFileRecord(const HandlerContext& context, const std::string& content_type,
                                const std::string& filename);
// Errors for files that are refused.
ErrorInfo FileTooLarge(const settings::MediaSettings& media);
ErrorInfo TypeRefused(const media::FileRecord& record);

// The path of a file below the base path of the service, without the id.
inline constexpr std::string_view kFilesPath = "/v1/files/";
// Returns the URL path of the file within the location of this request.
std::string FilePath(const HandlerContext& context, const std::string& file_id);

// Returns the response to an upload. `text` is the text that was extracted from the file.
std::string UploadedJson(const HandlerContext& context, const media::FileRecord& record,
                         const std::optional<std::string>& text,
                         const std::optional<media::DirectUrl>& direct);

}  // namespace agent_graph::api
