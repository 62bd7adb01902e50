#include "settings/models.h"

#include <algorithm>
#include <array>
#include <utility>

namespace agent_graph::settings {
namespace {

constexpr int64_t kTimeoutMillisecondsMax = 24 * 60 * 60 * 1000;
constexpr int64_t kReplyBytesMax = int64_t{64} << 20;
constexpr int64_t kDemoDelayMax = 60'000;
constexpr size_t kModelNameBytesMax = 128;
// A provider with an HTTP API: its public address, and the environment variable that holds its key.
struct PublicProvider {
  std::string_view name;
  std::string_view base_url;
  std::string_view key_variable;
};
constexpr PublicProvider kPublicProviders[] = {
    {"openai", "https://api.openai.com/v1", "OPENAI_API_KEY"},
    {"anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"},
    {"gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"},
};

Status ReadProvider(const Value& value, ModelSettings& model) {
  static constexpr std::array<std::string_view, 4> kNames = {"demo", "openai", "anthropic",
                                                             "gemini"};
  size_t index = 0;
  AG_RETURN_IF_ERROR(value.ReadChoice(kNames, index));
  model.provider = kNames[index];
  return Status::Ok();
}

constexpr Key<ModelSettings> kModelKeys[] = {
    {"provider", ReadProvider},
    {"model", [](const Value& v, ModelSettings& m) { return v.ReadString(m.model); }},
    {"base_url", [](const Value& v, ModelSettings& m) { return v.ReadBaseUrl(m.base_url); }},
    {"api_key", [](const Value& v, ModelSettings& m) { return v.ReadSecret(m.api_key); }},
    {"headers", [](const Value& v, ModelSettings& m) { return v.ReadHeaders(m.headers); }},
    {"connect_timeout_ms",
     [](const Value& v, ModelSettings& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.connect_timeout_ms);
     }},
    {"first_byte_timeout_ms",
     [](const Value& v, ModelSettings& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.first_byte_timeout_ms);
     }},
    {"idle_timeout_ms",
     [](const Value& v, ModelSettings& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.idle_timeout_ms);
     }},
    {"reply_bytes_max",
     [](const Value& v, ModelSettings& m) {
       return v.Read(1024, kReplyBytesMax, m.reply_bytes_max);
     }},
    {"retries_max", [](const Value& v, ModelSettings& m) { return v.Read(0, 10, m.retries_max); }},
    {"parameters",
     [](const Value& v, ModelSettings& m) { return v.ReadObjectText(m.parameters_json); }},
};

// Checks `delay_ms`, the only parameter of the demo provider.
Status CheckDemoParameters(const Value& model) {
  const std::vector<std::string> keys = model.Keys();
  if (std::ranges::count(keys, "parameters") == 0) return Status::Ok();
  const Value parameters = model.Member("parameters");
  const std::vector<std::string> names = parameters.Keys();
  if (std::ranges::count(names, "delay_ms") == 0) return Status::Ok();
  int64_t delay = 0;
  return parameters.Member("delay_ms").ReadInteger(0, kDemoDelayMax, delay);
}

Status CompleteModel(const Value& value, ModelSettings& model) {
  if (model.provider.empty()) {
    return value.Error("needs a provider: demo, openai, anthropic or gemini");
  }
  if (model.provider == "demo") return CheckDemoParameters(value);
  if (model.model.empty()) return value.Error("needs the name of a model in \"model\"");
  if (!model.base_url.empty()) return Status::Ok();
  const auto* provider = std::ranges::find(kPublicProviders, model.provider, &PublicProvider::name);
  model.base_url = provider->base_url;
  // The key in the variable belongs to the provider's public address and is never sent to another
  // address unless the configuration says so.
  auto key = value.environment().find(provider->key_variable);
  if (model.api_key.empty() && key != value.environment().end()) model.api_key = key->second;
  if (model.api_key.empty()) {
    return value.Error("needs an api_key, or " + std::string(provider->key_variable) +
                       " in the environment");
  }
  return Status::Ok();
}

}  // namespace

Status ReadModels(const Value& value, Settings& settings) {
  AG_RETURN_IF_ERROR(value.CheckObject());
  for (const std::string& name : value.Keys()) {
    Value entry = value.Member(name);
    if (name.empty() || name.size() > kModelNameBytesMax) {
      return value.Error("a model's name has 1 to " + std::to_string(kModelNameBytesMax) +
                         " bytes");
    }
    ModelSettings model;
    model.name = name;
    AG_RETURN_IF_ERROR(ReadObject(entry, kModelKeys, model));
    AG_RETURN_IF_ERROR(CompleteModel(entry, model));
    settings.models.push_back(std::move(model));
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
