// Routes of uploaded files and their configuration. Part of the route table in api/routes.cc.
#pragma once

#include <array>

#include "api/http/route.h"
#include "api/resources/handlers.h"

namespace agent_graph::api {

inline constexpr std::array kFileRoutes = {
    Route{
        .method = Method::kPost,
        .pattern = "/v1/files/upload",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kUpload},
        .body = BodyKind::kStream,
        .handler = UploadFile,
        .summary = "Store a file that messages can refer to",
        .shape = {.data = "File"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = DownloadFile,
        .summary = "Read a file",
        .shape = {.data = kBytesAnswer},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/info",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = GetFileInfo,
        .summary = "Describe a file",
        .shape = {.data = "FileInfo"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/files/{file_id}/url",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kFiles, auth::Action::kRead},
        .handler = GetFileUrl,
        .summary = "URL of a file",
        .shape = {.data = "FileUrl"},
    },
    Route{
        .method = Method::kGet,
        .pattern = "/v1/config/multimodal",
        .access = Access::kGuarded,
        .permission = {auth::Resource::kConfig, auth::Action::kRead},
        .handler = GetMultimodalConfig,
        .summary = "Accepted uploads",
        .shape = {.data = "MultimodalConfig"},
    },
};

}  // namespace agent_graph::api
