#include "settings/shape.h"

#include <algorithm>

#include "agent_graph/json.h"

namespace agent_graph::settings {
namespace {

std::vector<json> MakeSamples() {
  const std::vector<json> simple = {nullptr, true, 1, "", json::array(), json::object()};
  std::vector<json> samples = simple;
  for (const json& value : simple) samples.push_back(json::array({value}));
  for (const json& value : simple) samples.push_back({{"*", value}});
  return samples;
}

Shape& Make(std::unique_ptr<Shape>& shape) {
  if (shape == nullptr) shape = std::make_unique<Shape>();
  return *shape;
}

}  // namespace

void Shape::ReadSamples(const std::function<bool(const json& sample)>& read) {
  static const std::vector<json> samples = MakeSamples();
  for (const json& sample : samples) {
    if (read(sample)) Accept(sample);
  }
}

void Shape::ReadAsChoice(std::span<const std::string_view> names) {
  choices_.assign(names.begin(), names.end());
}

void Shape::Accept(const json& sample) {
  if (sample.is_null()) null_ = true;
  if (sample.is_boolean()) boolean_ = true;
  if (sample.is_number() && !integers_) number_ = true;
  if (sample.is_string() && choices_.empty()) text_ = true;
  if (sample.is_array()) array_ = true;
  if (sample.is_object()) object_ = true;
}

Shape& Shape::Elements() {
  return Make(elements_);
}

Shape& Shape::Members() {
  return Make(members_);
}

Shape& Shape::Key(std::string_view name) {
  const auto found = std::ranges::find(keys_, name, [](const auto& key) { return key.first; });
  if (found != keys_.end()) return *found->second;
  return *keys_.emplace_back(name, std::make_unique<Shape>()).second;
}

json Shape::ArraySchema() const {
  json schema = {{"type", "array"}};
  if (elements_ != nullptr) schema["items"] = elements_->ToSchema();
  return schema;
}

json Shape::ObjectSchema() const {
  json schema = {{"type", "object"}};
  if (has_keys()) {
    json& properties = schema["properties"];
    for (const auto& [name, shape] : keys_) properties[name] = shape->ToSchema();
    schema["additionalProperties"] = false;
  } else if (members_ != nullptr) {
    schema["additionalProperties"] = members_->ToSchema();
  }
  return schema;
}

json Shape::ToSchema() const {
  const bool any = null_ && boolean_ && number_ && text_ && array_ && object_;
  if (any) return json::object();
  json forms = json::array();
  if (null_) forms.push_back({{"type", "null"}});
  if (boolean_) forms.push_back({{"type", "boolean"}});
  if (number_) forms.push_back({{"type", "number"}});
  if (integers_) {
    forms.push_back(
        {{"type", "integer"}, {"minimum", integers_->first}, {"maximum", integers_->second}});
  }
  if (!choices_.empty()) {
    forms.push_back({{"enum", choices_}});
    forms.push_back({{"$ref", "#/$defs/Variable"}});
  } else if (text_) {
    forms.push_back({{"type", "string"}});
  }
  if (array_) forms.push_back(ArraySchema());
  if (object_) forms.push_back(ObjectSchema());
  if (forms.size() == 1) return forms[0];
  return {{"anyOf", std::move(forms)}};
}

}  // namespace agent_graph::settings
