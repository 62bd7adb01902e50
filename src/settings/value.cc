#include "settings/value.h"

#include <algorithm>
#include <cmath>

#include "agent_graph/json.h"
#include "base/environment.h"
#include "base/header_value.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "base/unknown_key.h"
#include "settings/url.h"

namespace agent_graph::settings {
namespace {

std::string Join(std::span<const std::string_view> names) {
  std::string text;
  for (std::string_view name : names) {
    if (!text.empty()) text += ", ";
    text += name;
  }
  return text;
}

// Joins names as in "leveldb, memory or none".
std::string JoinOr(std::span<const std::string_view> names) {
  if (names.size() < 2) return Join(names);
  return Join(names.first(names.size() - 1)) + " or " + std::string(names.back());
}

// The first names, as many as an error has room for.
std::string JoinFew(std::span<const std::string_view> names) {
  constexpr size_t kShown = 4;
  return JoinOr(names.first(std::min(names.size(), kShown)));
}

// Returns a key as part of a path: plain, or quoted if it could be confused with the rest of the
// path.
std::string ShownKey(std::string_view key) {
  const bool plain = !key.empty() && std::ranges::none_of(key, [](char c) {
    return (c >= 0 && c < ' ') || c == 0x7f || c == '.' || c == '"';
  });
  return plain ? std::string(key) : DumpJson(json(key));
}

// Advice for a key that other servers have at the top level: the place of this setting here. Empty:
// the key is not known as one of those.
std::string PlaceOfTopLevelKey(std::string_view key, const json& value) {
  struct Place {
    std::string_view key;
    std::string_view directive;
  };
  static constexpr Place kOfNginx[] = {
      {.key = "port", .directive = "listen"},
      {.key = "host", .directive = "listen"},
      {.key = "listen", .directive = "listen"},
      {.key = "workers", .directive = "worker_processes"},
      {.key = "log_level", .directive = "error_log"},
      {.key = "logging", .directive = "error_log and access_log"},
      {.key = "ssl", .directive = "listen ... ssl and ssl_certificate"},
      {.key = "tls", .directive = "listen ... ssl and ssl_certificate"},
  };
  const auto* place = std::ranges::find(kOfNginx, key, &Place::key);
  if (place != std::end(kOfNginx)) {
    return std::string(key) + ": belongs in nginx.conf: " + std::string(place->directive);
  }
  static constexpr std::string_view kOfGraph[] = {"nodes", "edges",       "system_prompt",
                                                  "tools", "mcp_servers", "mcpServers"};
  if (std::ranges::find(kOfGraph, key) != std::end(kOfGraph)) {
    return std::string(key) + ": belongs in the graph, which is the file that \"agent\" names";
  }
  if (value.is_object() && value.contains("nodes")) {
    return ShownKey(key) + ": is a graph, which belongs in a file of its own, such as " +
           "graphs/support.json; \"agent\": \"graphs/support.json:" + std::string(key) +
           "\" names it";
  }
  return {};
}

bool IsHeaderName(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

}  // namespace

Shape* Value::ShapeOfElements() const {
  if (shape_ == nullptr) return nullptr;
  shape_->ReadAsArray();
  return &shape_->Elements();
}

Result<std::vector<Value>> Value::Elements() const {
  if (!node_.is_array()) return Error("must be an array");
  std::vector<Value> elements;
  elements.reserve(node_.size());
  for (size_t i = 0; i < node_.size(); ++i) {
    elements.emplace_back(node_[i], path_ + "." + std::to_string(i), environment_,
                          ShapeOfElements());
  }
  return elements;
}

Value Value::Element(size_t index) const {
  return Value(node_, path_ + "." + std::to_string(index), environment_);
}

bool Value::IsNull() const {
  return node_.is_null();
}
bool Value::IsString() const {
  return node_.is_string();
}

Value Value::Member(const std::string& key) const {
  const std::string shown = ShownKey(key);
  Shape* const shape = shape_ != nullptr ? &shape_->Members() : nullptr;
  return Value(node_.at(key), path_.empty() ? shown : path_ + "." + shown, environment_, shape);
}

std::vector<std::string> Value::Keys() const {
  std::vector<std::string> keys;
  if (!node_.is_object()) return keys;
  for (const auto& [key, value] : node_.items()) keys.push_back(key);
  return keys;
}

Status Value::Error(const std::string& reason) const {
  return Status(StatusCode::kInvalidArgument, path_.empty() ? reason : path_ + ": " + reason);
}

Status Value::UnknownKey(std::string_view key, std::span<const std::string_view> known) const {
  if (path_.empty()) {
    const std::string elsewhere = PlaceOfTopLevelKey(key, node_.at(std::string(key)));
    if (!elsewhere.empty()) return Status(StatusCode::kInvalidArgument, elsewhere);
  }
  const std::string path = path_.empty() ? ShownKey(key) : path_ + "." + ShownKey(key);
  const std::string advice = AdviceForUnknownKey(key, known);
  return Status(
      StatusCode::kInvalidArgument,
      path + ": unknown key; " + (advice.empty() ? "known here are " + Join(known) : advice));
}

Status Value::ReadString(std::string& out) const {
  if (!node_.is_string()) return Error("must be a string");
  if (shape_ != nullptr) shape_->ReadAsText();
  Result<std::string> expanded = ExpandVariables(node_.get_ref<const std::string&>(), environment_);
  if (!expanded.ok()) return Error(expanded.status().message());
  out = *std::move(expanded);
  return Status::Ok();
}

Status Value::ReadBaseUrl(std::string& out) const {
  AG_RETURN_IF_ERROR(ReadString(out));
  if (Status usable = CheckHttpUrl(out, UrlShape::kBase); !usable.ok()) {
    return Error(usable.message());
  }
  while (out.ends_with('/')) out.pop_back();
  return Status::Ok();
}

Status Value::ReadSecret(std::string& out) const {
  AG_RETURN_IF_ERROR(ReadString(out));
  if (HasBlankOrControlCharacter(out)) {
    return Error("must not contain blanks or control characters");
  }
  if (out.find_first_of("\"'") == 0)
    return Error("must not begin with a quotation mark of its own");
  return Status::Ok();
}

Status Value::ReadBoolean(bool& out) const {
  if (!node_.is_boolean()) return Error("must be true or false");
  if (shape_ != nullptr) shape_->ReadAsBoolean();
  out = node_.get<bool>();
  return Status::Ok();
}

Status Value::ReadInteger(int64_t minimum, int64_t maximum, int64_t& out) const {
  if (shape_ != nullptr && node_.is_number_integer()) {
    shape_->ReadAsInteger(minimum, maximum);
    out = minimum;
    return Status::Ok();
  }
  bool fits = node_.is_number_unsigned() ? node_.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                                         : node_.is_number_integer();
  int64_t value = fits ? node_.get<int64_t>() : 0;
  if (!fits || value < minimum || value > maximum) {
    return Error("must be an integer from " + std::to_string(minimum) + " to " +
                 std::to_string(maximum) + (node_.is_string() ? ", without quotes or a unit" : ""));
  }
  out = value;
  return Status::Ok();
}

Status Value::ReadNumber(double minimum, double maximum, double& out) const {
  const double value = node_.is_number() ? node_.get<double>() : NAN;
  if (shape_ != nullptr && node_.is_number()) {
    out = minimum;
    return Status::Ok();
  }
  if (!(value >= minimum && value <= maximum)) {
    return Error("must be a number from " + DumpJson(minimum) + " to " + DumpJson(maximum));
  }
  out = value;
  return Status::Ok();
}

Status Value::ReadStrings(std::vector<std::string>& out) const {
  out.clear();
  if (node_.is_string()) {
    std::string text;
    AG_RETURN_IF_ERROR(ReadString(text));
    for (std::string_view rest = text;;) {
      size_t comma = rest.find(',');
      std::string_view part = Trim(rest.substr(0, comma));
      if (!part.empty()) out.emplace_back(part);
      if (comma == std::string_view::npos) return Status::Ok();
      rest.remove_prefix(comma + 1);
    }
  }
  if (!node_.is_array()) return Error("must be an array of strings");
  if (Shape* elements = ShapeOfElements()) elements->ReadAsText();
  for (size_t i = 0; i < node_.size(); ++i) {
    std::string text;
    Value element(node_[i], path_ + "." + std::to_string(i), environment_);
    AG_RETURN_IF_ERROR(element.ReadString(text));
    out.push_back(std::move(text));
  }
  return Status::Ok();
}

Status Value::ReadHeaders(std::map<std::string, std::string>& out) const {
  AG_RETURN_IF_ERROR(CheckObject());
  for (const std::string& name : Keys()) {
    Value member = Member(name);
    if (!IsHeaderName(name)) return member.Error("is not a header name");
    std::string text;
    AG_RETURN_IF_ERROR(member.ReadString(text));
    if (!IsHeaderValue(text)) return member.Error("must not contain control characters");
    out[name] = std::move(text);
  }
  return Status::Ok();
}

Status Value::ReadExpanded(json& out) const {
  if (node_.is_string()) {
    std::string text;
    AG_RETURN_IF_ERROR(ReadString(text));
    out = std::move(text);
  } else if (node_.is_object()) {
    out = json::object();
    for (const std::string& key : Keys()) AG_RETURN_IF_ERROR(Member(key).ReadExpanded(out[key]));
  } else if (node_.is_array()) {
    out = json::array();
    AG_ASSIGN_OR_RETURN(const std::vector<Value> elements, Elements());
    for (const Value& element : elements) {
      AG_RETURN_IF_ERROR(element.ReadExpanded(out.emplace_back()));
    }
  } else {
    out = node_;
  }
  return Status::Ok();
}

Status Value::ReadObjectText(std::string& out) const {
  AG_RETURN_IF_ERROR(CheckObject());
  if (shape_ != nullptr) return Status::Ok();  // an object of any shape
  json expanded;
  AG_RETURN_IF_ERROR(ReadExpanded(expanded));
  out = DumpJson(expanded);
  return Status::Ok();
}

Status Value::CheckObject(std::span<const std::string_view> keys) const {
  if (node_.is_object()) return Status::Ok();
  return Error(keys.empty() ? "must be an object"
                            : "must be an object with keys such as " + JoinFew(keys));
}

Status Value::ReadName(std::span<const std::string_view> names, size_t& index,
                       std::span<const std::string_view> unavailable) const {
  if (!node_.is_string()) return Error("must be one of " + Join(names));
  if (shape_ != nullptr) {
    shape_->ReadAsChoice(names);
    index = 0;
    return Status::Ok();
  }
  std::string text;
  AG_RETURN_IF_ERROR(ReadString(text));
  if (std::ranges::find(unavailable, text) != unavailable.end()) {
    return Error(DumpJson(node_) + " is not available in this build; use " + JoinOr(names));
  }
  auto found = std::ranges::find(names, text);
  if (found == names.end()) {
    const std::string_view nearest = NearestWord(LowerCase(text), names);
    return Error(DumpJson(node_) + " is not one of " + Join(names) +
                 (nearest.empty() ? "" : "; did you mean " + std::string(nearest) + "?"));
  }
  index = static_cast<size_t>(found - names.begin());
  return Status::Ok();
}

}  // namespace agent_graph::settings
