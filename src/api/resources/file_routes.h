// Routes of uploaded files and their configuration. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/file_examples.h"
#include "api/resources/handlers.h"

namespace agent_graph::api {

inline constexpr std::array kDownloadRequestHeaders = {
    Field{.name = "Range",
          .type = FieldType::kText,
          .description = "One range of bytes, such as `bytes=0-1023`; others are ignored"},
    Field{.name = "If-Range",
          .type = FieldType::kText,
          .description = "The `ETag` of the file that the range belongs to"},
    Field{.name = "If-None-Match",
          .type = FieldType::kText,
          .description = "The `ETag` that the client has; the response is then 304"},
};
inline constexpr std::array kDownloadResponseHeaders = {
    Field{.name = "ETag",
          .type = FieldType::kText,
          .description = "Never changes, because files never do",
          .required = true},
};

inline constexpr std::array kFileRoutes = {
    Route{
        .method = Method::kPost,
        .pattern = "/v1/files/upload",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kUpload},
        .body = BodyKind::kStream,
        .handler = UploadFile,
        .summary = "Store a file that messages can refer to",
        .description =
            "A form with one file. Messages then refer to it by its `file_id`; the text of "
            "documents is extracted for models.",
        .shape = {.data = "File"},
        .example = kUploadExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = DownloadFile,
        .summary = "Read a file",
        .description = "The bytes as they were uploaded; `Range` works. `file_id` comes from `POST "
                       "/v1/files/upload`.",
        .shape = {.data = kBytesAnswer,
                  .request_headers = kDownloadRequestHeaders,
                  .response_headers = kDownloadResponseHeaders},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/info",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = GetFileInfo,
        .summary = "Describe a file",
        .description =
            "Type, size, name and extracted text of an upload. `file_id` comes from `POST "
            "/v1/files/upload`.",
        .shape = {.data = "FileInfo"},
        .example = kFileInfoExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/url",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = GetFileUrl,
        .summary = "URL of a file",
        .description =
            "For a file in a bucket a presigned URL with the time at which it ends, else the URL "
            "of this service. `file_id` comes from `POST /v1/files/upload`.",
        .shape = {.data = "FileUrl"},
        .example = kFileUrlExample,
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/config/multimodal",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kConfig, auth::Action::kRead},
        .handler = GetMultimodalConfig,
        .summary = "Accepted uploads",
        .description =
            "Where uploads are kept, how large they may be and how documents are handled.",
        .shape = {.data = "MultimodalConfig"},
        .example = kMultimodalExample,
    },
};

}  // namespace agent_graph::api
