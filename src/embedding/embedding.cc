#include "embedding/embedding.h"

#include <chrono>

namespace agent_graph::embedding {

Result<std::unique_ptr<memory::Embedder>> MakeEmbedder(const settings::Settings& settings) {
  const settings::EmbeddingSettings& embedding = settings.embedding;
  memory::EmbeddingOptions options;
  options.provider = embedding.provider;
  options.dimensions = embedding.dimensions;
  options.model = embedding.model;
  options.base_url = embedding.base_url;
  options.api_key = embedding.api_key;
  options.headers = embedding.headers;
  options.timeout = std::chrono::milliseconds(embedding.timeout_ms);
  options.retries_max = embedding.retries_max;
  options.batch_max = embedding.batch_max;
  return memory::MakeEmbedder(options, settings.environment);
}

}  // namespace agent_graph::embedding
