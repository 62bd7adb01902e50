#include "settings/store.h"

#include "memory/embedder.h"
#include "settings/provider_url.h"

namespace agent_graph::settings {
namespace {

using memory::EmbeddingOptions;

constexpr int64_t kDimensionsMax = 8192;
constexpr int64_t kTimeoutMax = 10 * 60 * 1000;
constexpr int64_t kBatchMax = 2048;
constexpr int64_t kIndexBytesMin = int64_t{1} << 20;
constexpr int64_t kIndexBytesMax = int64_t{1} << 40;

Status ReadStoreType(const Value& value, StoreSettings& store) {
  using Type = StoreSettings::Type;
  static constexpr Choice<Type> kTypes[] = {{"leveldb", Type::kLevelDb},
                                            {"memory", Type::kMemory},
                                            {"postgres", Type::kPostgres},
                                            {"none", Type::kNone}};
  return value.ReadChoice(kTypes, store.type);
}

constexpr Key<StoreSettings> kStoreKeys[] = {
    {"type", ReadStoreType},
    {"index_bytes_max",
     [](const Value& v, StoreSettings& s) {
       return v.Read(kIndexBytesMin, kIndexBytesMax, s.index_bytes_max);
     }},
};

Status ReadProvider(const Value& value, EmbeddingOptions& embedding) {
  const std::vector<std::string_view> names = memory::EmbedderNames();
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadName(names, index));
  embedding.provider = names[index];
  return Status::Ok();
}

constexpr Key<EmbeddingOptions> kEmbeddingKeys[] = {
    {"provider", ReadProvider},
    {"model", [](const Value& v, EmbeddingOptions& e) { return v.ReadString(e.model); }},
    {"base_url", [](const Value& v, EmbeddingOptions& e) { return v.ReadBaseUrl(e.base_url); }},
    {"api_key", [](const Value& v, EmbeddingOptions& e) { return v.ReadSecret(e.api_key); }},
    {"headers", [](const Value& v, EmbeddingOptions& e) { return v.ReadHeaders(e.headers); }},
    {"http2", [](const Value& v, EmbeddingOptions& e) { return v.ReadBoolean(e.http2); }},
    {"dimensions",
     [](const Value& v, EmbeddingOptions& e) { return v.Read(8, kDimensionsMax, e.dimensions); }},
    {"timeout_ms",
     [](const Value& v, EmbeddingOptions& e) { return v.Read(1, kTimeoutMax, e.timeout); }},
    {"retries_max",
     [](const Value& v, EmbeddingOptions& e) { return v.Read(0, 10, e.retries_max); }},
    {"batch_max",
     [](const Value& v, EmbeddingOptions& e) { return v.Read(1, kBatchMax, e.batch_max); }},
};

Status CompleteEmbedding(const Value& value, EmbeddingOptions& embedding) {
  const memory::EmbedderKind* provider = memory::FindEmbedderKind(embedding.provider);
  if (provider == nullptr || provider->base_url.empty()) return Status::Ok();
  if (embedding.model.empty()) return value.Error("needs the name of a model in \"model\"");
  if (!embedding.base_url.empty()) {
    return CheckProviderUrl(value, embedding.base_url, provider->base_url);
  }
  embedding.base_url = provider->base_url;
  // The key in the variable belongs to the provider's public address and is never sent to another
  // address unless the configuration says so.
  auto key = value.environment().find(provider->key_variable);
  if (embedding.api_key.empty() && key != value.environment().end()) {
    embedding.api_key = key->second;
  }
  if (!embedding.api_key.empty()) return Status::Ok();
  return value.Error("needs an api_key, or " + std::string(provider->key_variable) +
                     " in the environment");
}

}  // namespace

Status ReadStore(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) return ReadStoreType(value, settings.store);
  settings.store.type = StoreSettings::Type::kLevelDb;
  return ReadObject(value, kStoreKeys, settings.store);
}

Status ReadEmbedding(const Value& value, Settings& settings) {
  if (value.IsNull()) return Status::Ok();
  if (value.IsString()) {
    AG_RETURN_IF_ERROR(ReadProvider(value, settings.embedding));
  } else {
    AG_RETURN_IF_ERROR(ReadObject(value, kEmbeddingKeys, settings.embedding));
  }
  return CompleteEmbedding(value, settings.embedding);
}

Status CheckStore(const Settings& settings) {
  using Checkpointer = CheckpointerSettings::Type;
  using Store = StoreSettings::Type;
  if (settings.store.type == Store::kNone) return Status::Ok();
  if (settings.store.type == Store::kPostgres &&
      settings.checkpointer.type != Checkpointer::kPostgres) {
    return Status(StatusCode::kInvalidArgument,
                  "store.type: \"postgres\" is the database of the checkpointer; give "
                  "checkpointer.type the same value, and checkpointer.url");
  }
  if (settings.checkpointer.type == Checkpointer::kNone) return Status::Ok();
  const bool same = (settings.store.type == Store::kMemory) ==
                        (settings.checkpointer.type == Checkpointer::kMemory) &&
                    (settings.store.type == Store::kPostgres) ==
                        (settings.checkpointer.type == Checkpointer::kPostgres);
  if (same) return Status::Ok();
  return Status(StatusCode::kInvalidArgument,
                "store.type: memories are kept in the database of the checkpointer; give both the "
                "same type");
}

}  // namespace agent_graph::settings
