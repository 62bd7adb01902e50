#include "settings/models.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/text.h"
#include "models/provider_kind.h"
#include "settings/provider_url.h"

namespace agent_graph::settings {
namespace {

using models::ProviderOptions;

constexpr int64_t kTimeoutMillisecondsMax = 24 * 60 * 60 * 1000;
constexpr int64_t kReplyBytesMax = int64_t{64} << 20;
constexpr size_t kModelNameBytesMax = 128;
constexpr double kPriceMax = 1e6;

// The provider whose models or company have this name; empty: unknown.
std::string_view CompanyOf(std::string_view name) {
  if (name == "claude") return "anthropic";
  return name == "google" || name == "vertexai" || name == "google_genai" ? "gemini" : "";
}

Status ReadProvider(const Value& value, ProviderOptions& model) {
  const std::vector<std::string_view> names = models::ProviderNames();
  size_t index = 0;
  const Status chosen = value.ReadName(names, index);
  if (!chosen.ok() && value.IsString() && !chosen.message().ends_with('?')) {
    const std::string company(CompanyOf(value.node().get_ref<const std::string&>()));
    return Status(chosen.code(),
                  chosen.message() +
                      (company.empty() ? "; another server with OpenAI's API, such as Ollama, is "
                                         "\"openai\" with its base_url"
                                       : "; did you mean " + company + "?"));
  }
  AG_RETURN_IF_ERROR(chosen);
  model.provider = names[index];
  return Status::Ok();
}

constexpr Key<models::TokenPrice> kPriceKeys[] = {
    {"input",
     [](const Value& v, models::TokenPrice& p) { return v.ReadNumber(0, kPriceMax, p.input); }},
    {"output",
     [](const Value& v, models::TokenPrice& p) { return v.ReadNumber(0, kPriceMax, p.output); }},
};

Status ReadPrice(const Value& value, ProviderOptions& model) {
  models::TokenPrice price{-1, -1};
  AG_RETURN_IF_ERROR(ReadObject(value, kPriceKeys, price));
  if (value.shape() != nullptr) return Status::Ok();
  if (price.input < 0 || price.output < 0) {
    return value.Error("needs input and output: USD for a million tokens");
  }
  model.price = price;
  return Status::Ok();
}

constexpr Key<ProviderOptions> kModelKeys[] = {
    {"provider", ReadProvider},
    {"model", [](const Value& v, ProviderOptions& m) { return v.ReadString(m.model); }},
    {"base_url", [](const Value& v, ProviderOptions& m) { return v.ReadBaseUrl(m.base_url); }},
    {"api_key", [](const Value& v, ProviderOptions& m) { return v.ReadSecret(m.api_key); }},
    {"headers", [](const Value& v, ProviderOptions& m) { return v.ReadHeaders(m.headers); }},
    {"http2", [](const Value& v, ProviderOptions& m) { return v.ReadBoolean(m.http2); }},
    {"connect_timeout_ms",
     [](const Value& v, ProviderOptions& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.connect_timeout);
     }},
    {"first_byte_timeout_ms",
     [](const Value& v, ProviderOptions& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.first_byte_timeout);
     }},
    {"idle_timeout_ms",
     [](const Value& v, ProviderOptions& m) {
       return v.Read(1, kTimeoutMillisecondsMax, m.idle_timeout);
     }},
    {"reply_bytes_max",
     [](const Value& v, ProviderOptions& m) {
       return v.Read(1024, kReplyBytesMax, m.reply_bytes_max);
     }},
    {"retries_max",
     [](const Value& v, ProviderOptions& m) { return v.Read(0, 10, m.retries_max); }},
    {"price", ReadPrice},
    {"parameters",
     [](const Value& v, ProviderOptions& m) { return v.ReadObjectText(m.parameters_json); }},
};

Status CheckShape(const Value& model) {
  if (model.IsString()) {
    return model.Error(
        "must be an object, such as {\"provider\": \"openai\", \"model\": \"gpt-4o-mini\"}");
  }
  return Status::Ok();
}

Status CheckParameter(const Value& model, const models::IntegerParameter& checked) {
  const std::vector<std::string> keys = model.Keys();
  if (std::ranges::count(keys, "parameters") == 0) return Status::Ok();
  const Value parameters = model.Member("parameters");
  const std::vector<std::string> names = parameters.Keys();
  if (std::ranges::count(names, checked.name) == 0) return Status::Ok();
  int64_t number = 0;
  return parameters.Member(std::string(checked.name))
      .ReadInteger(checked.minimum, checked.maximum, number);
}

Status CompleteModel(const Value& value, ProviderOptions& model) {
  const models::ProviderKind* provider = models::FindProviderKind(model.provider);
  if (provider == nullptr) {
    return value.Error("needs a provider: " + JoinNames(models::ProviderNames(), ", ", " or "));
  }
  if (provider->checked_parameter) {
    AG_RETURN_IF_ERROR(CheckParameter(value, *provider->checked_parameter));
  }
  if (provider->base_url.empty()) return Status::Ok();
  if (model.model.empty()) return value.Error("needs the name of a model in \"model\"");
  if (!model.base_url.empty()) return CheckProviderUrl(value, model.base_url, provider->base_url);
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

std::optional<models::TokenPrice> Settings::PriceOf(std::string_view model) const {
  const auto found = std::ranges::find(models, model, &ProviderOptions::name);
  return found != models.end() ? found->price : std::nullopt;
}

Status ReadModels(const Value& value, Settings& settings) {
  if (!value.node().is_object()) {
    return value.Error("must be an object, such as {\"default\": {\"provider\": \"demo\"}}");
  }
  for (const std::string& name : value.Keys()) {
    Value entry = value.Member(name);
    if (name.empty() || name.size() > kModelNameBytesMax) {
      return value.Error("a model's name has 1 to " + std::to_string(kModelNameBytesMax) +
                         " bytes");
    }
    ProviderOptions model;
    model.name = name;
    AG_RETURN_IF_ERROR(CheckShape(entry));
    AG_RETURN_IF_ERROR(ReadObject(entry, kModelKeys, model));
    AG_RETURN_IF_ERROR(CompleteModel(entry, model));
    settings.models.push_back(std::move(model));
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
