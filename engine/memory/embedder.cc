#include "memory/embedder.h"

#include <algorithm>

#include "base/text.h"
#include "memory/hash_embedder.h"
#include "memory/http_embedder.h"

namespace agent_graph::memory {
namespace {

constexpr EmbedderKind kEmbedderKinds[] = {
    {.name = "hash", .create = &CreateHashEmbedder},
    {.name = "openai",
     .base_url = "https://api.openai.com/v1",
     .key_variable = "OPENAI_API_KEY",
     .create = &CreateHttpEmbedder},
};

}  // namespace

const EmbedderKind* FindEmbedderKind(std::string_view name) {
  const auto* found = std::ranges::find(kEmbedderKinds, name, &EmbedderKind::name);
  return found != std::end(kEmbedderKinds) ? found : nullptr;
}

std::vector<std::string_view> EmbedderNames() {
  std::vector<std::string_view> names;
  for (const EmbedderKind& kind : kEmbedderKinds) names.push_back(kind.name);
  return names;
}

Result<std::unique_ptr<Embedder>> MakeEmbedder(const EmbeddingOptions& options,
                                               const Environment& environment) {
  const EmbedderKind* kind = FindEmbedderKind(options.provider);
  if (kind != nullptr) return kind->create(options, environment);
  return Status(StatusCode::kInvalidArgument, "embedding.provider: \"" + options.provider +
                                                  "\" is not one of " +
                                                  JoinNames(EmbedderNames(), ", "));
}

}  // namespace agent_graph::memory
