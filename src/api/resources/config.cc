// GET /v1/config/multimodal: the settings for uploads and documents.

#include "agent_graph/json.h"
#include "api/http/context.h"
#include "api/resources/handlers.h"
#include "base/json.h"

namespace agent_graph::api {
namespace {

const char* StorageName(settings::MediaSettings::Storage storage) {
  switch (storage) {
    case settings::MediaSettings::Storage::kMemory:
      return "memory";
    case settings::MediaSettings::Storage::kLocal:
      return "local";
    case settings::MediaSettings::Storage::kDatabase:
      return "pg";
    case settings::MediaSettings::Storage::kCloud:
      return "cloud";
  }
  return "";
}

const char* DocumentHandlingName(settings::MediaSettings::Documents documents) {
  switch (documents) {
    case settings::MediaSettings::Documents::kExtractText:
      return "extract_text";
    case settings::MediaSettings::Documents::kPassRaw:
      return "pass_raw";
    case settings::MediaSettings::Documents::kSkip:
      return "skip";
  }
  return "";
}

}  // namespace

void GetMultimodalConfig(HandlerContext& context) {
  const settings::MediaSettings& media = context.api().settings->media;
  context.Succeed(DumpJson({{"media_storage_type", StorageName(media.storage)},
                            {"media_storage_path", media.path},
                            {"media_max_size_mb", media.max_size_mb},
                            {"document_handling", DocumentHandlingName(media.documents)}}));
}

}  // namespace agent_graph::api
