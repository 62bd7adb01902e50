#include "memory/embedder.h"

#include "memory/hash_embedder.h"
#include "memory/http_embedder.h"

namespace agent_graph::memory {

Result<std::unique_ptr<Embedder>> MakeEmbedder(const EmbeddingOptions& options,
                                               const Environment& environment) {
  if (options.provider == "hash") {
    const size_t dimensions = options.dimensions > 0 ? options.dimensions : kHashDimensions;
    return std::unique_ptr<Embedder>(std::make_unique<HashEmbedder>(dimensions));
  }
  if (options.provider == "openai") {
    return std::unique_ptr<Embedder>(std::make_unique<HttpEmbedder>(
        options, std::make_shared<const net::HttpClient>(environment)));
  }
  return Status(StatusCode::kInvalidArgument,
                "embedding.provider: \"" + options.provider + "\" is not one of hash, openai");
}

}  // namespace agent_graph::memory
