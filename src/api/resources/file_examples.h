// Examples of the routes of files, for the OpenAPI document; file_routes.h names them. A test
// sends each of them.
#pragma once

#include "api/http/route.h"

namespace agent_graph::api {

inline constexpr RouteExample kUploadExample{.answer = R"json({
  "file_id": "669c135758d9a47091c48a85ecf51377", "mime_type": "text/plain",
  "size_bytes": 22, "filename": "note.txt", "extracted_text": "Tea is served at five.",
  "direct_url": null, "direct_url_expires_at": null,
  "url": "/v1/files/669c135758d9a47091c48a85ecf51377"
})json"};

inline constexpr RouteExample kFileInfoExample{.answer = R"json({
  "file_id": "669c135758d9a47091c48a85ecf51377", "mime_type": "text/plain",
  "size_bytes": 22, "filename": "note.txt", "extracted_text": "Tea is served at five.",
  "direct_url": null, "direct_url_expires_at": null
})json"};

inline constexpr RouteExample kFileUrlExample{.answer = R"json({
  "file_id": "669c135758d9a47091c48a85ecf51377",
  "url": "/v1/files/669c135758d9a47091c48a85ecf51377", "expires_at": null,
  "mime_type": "text/plain"
})json"};

inline constexpr RouteExample kMultimodalExample{.answer = R"json({
  "media_storage_type": "local", "media_storage_path": "uploads",
  "media_max_size_mb": 25.0, "document_handling": "extract_text"
})json"};

}  // namespace agent_graph::api
