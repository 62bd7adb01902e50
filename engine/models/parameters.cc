#include "models/parameters.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "models/call_options.h"

namespace agent_graph::models {
namespace {

Result<json> ParseObject(std::string_view text) {
  if (text.empty() || text == "{}") return json::object();
  Result<json> parsed = ParseJson(text);
  if (!parsed.ok() || !parsed->is_object()) {
    return Status(StatusCode::kModel, "the model's parameters are not a JSON object");
  }
  return parsed;
}

// 100.0 is the integer 100, and providers expect it as such. Doubles below the bound are exact.
json WithoutFraction(json value) {
  constexpr double kExactMax = 9007199254740992;  // 2^53
  if (!value.is_number_float()) return value;
  const auto number = value.get<double>();
  if (number != std::floor(number) || std::abs(number) > kExactMax) return value;
  return static_cast<int64_t>(number);
}

}  // namespace

Result<json> MergeParameters(std::string_view provider_json, std::string_view request_json) {
  AG_ASSIGN_OR_RETURN(json merged, ParseObject(provider_json));
  AG_ASSIGN_OR_RETURN(json request, ParseObject(request_json));
  for (auto& [name, value] : request.items()) merged[name] = std::move(value);
  for (auto entry = merged.begin(); entry != merged.end();) {
    entry = entry->is_null() ? merged.erase(entry) : std::next(entry);
  }
  return merged;
}

Result<json> MergeParameters(const json& defaults, std::string_view provider_json,
                             std::string_view request_json) {
  // Merged as text, so that a null in the parameters can remove a default.
  AG_ASSIGN_OR_RETURN(const json own, MergeParameters(DumpJson(defaults), provider_json));
  return MergeParameters(DumpJson(own), request_json);
}

Status SetCallParameters(const ModelRequest& request, std::span<const std::string_view> known,
                         json& parameters) {
  constexpr const char* kMaxTokens = "max_tokens";
  if (request.options == nullptr) return Status::Ok();
  AG_ASSIGN_OR_RETURN(json chosen, ParseObject(request.options->parameters_json));
  for (auto& [name, value] : chosen.items()) {
    if (std::ranges::find(known, name) == known.end()) continue;
    const auto own = parameters.find(name);
    if (name == kMaxTokens) value = WithoutFraction(std::move(value));
    const bool is_lower = name == kMaxTokens && own != parameters.end() && own->is_number() &&
                          value.is_number() && *own < value;
    if (!is_lower) parameters[name] = std::move(value);
  }
  return Status::Ok();
}

}  // namespace agent_graph::models
