// One value of service.json with its path: typed reading, and errors that name the key.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "settings/settings.h"

namespace agent_graph::settings {

class Value {
 public:
  Value(const json& node, std::string path, const Environment& environment)
      : node_(node), path_(std::move(path)), environment_(environment) {}

  const json& node() const { return node_; }
  const std::string& path() const { return path_; }
  const Environment& environment() const { return environment_; }

  bool IsNull() const;
  bool IsString() const;
  Value Member(const std::string& key) const;   // of an object that has it
  std::vector<std::string> Keys() const;        // of an object, in order; empty for anything else
  Result<std::vector<Value>> Elements() const;  // of an array
  // The same text or array under the name of one of its elements, for an error.
  Value Element(size_t index) const;

  // "models.default.api_key: <reason>". Reasons quote the text as written, never expanded; paths
  // and names of nodes are told as they are looked for.
  Status Error(const std::string& reason) const;
  // "…: unknown key; did you mean …?"
  Status UnknownKey(std::string_view key, std::span<const std::string_view> known) const;

  Status ReadString(std::string& out) const;  // with ${NAME} expanded
  // An http or https address without a slash at its end.
  Status ReadBaseUrl(std::string& out) const;
  // Text without blanks and control characters, such as a key. Never quoted.
  Status ReadSecret(std::string& out) const;
  Status ReadBoolean(bool& out) const;
  Status ReadInteger(int64_t minimum, int64_t maximum, int64_t& out) const;
  Status ReadStrings(std::vector<std::string>& out) const;  // an array, or text with commas
  Status ReadHeaders(std::map<std::string, std::string>& out) const;
  Status ReadObjectText(std::string& out) const;  // an object of free shape, as JSON text
  Status ReadExpanded(json& out) const;           // anything, with ${NAME} expanded in its texts
  Status CheckObject() const;

  template <typename Integer>
  Status Read(int64_t minimum, int64_t maximum, Integer& out) const {
    int64_t value = 0;
    AG_RETURN_IF_ERROR(ReadInteger(minimum, maximum, value));
    out = static_cast<Integer>(value);
    return Status::Ok();
  }

  // Sets `index` to the position of the text in `names`. Names of `unavailable` are refused as
  // known elsewhere, but not in this build.
  Status ReadChoice(std::span<const std::string_view> names, size_t& index,
                    std::span<const std::string_view> unavailable = {}) const;

 private:
  const json& node_;
  const std::string path_;
  const Environment& environment_;
};

// A row of the schema: what a key is called and how its value goes into `Target`.
template <typename Target>
struct Key {
  std::string_view name;
  Status (*read)(const Value& value, Target& target);
};

// Reads an object by its rows; keys outside of them are errors.
template <typename Target, size_t kRows>
Status ReadObject(const Value& object, const Key<Target> (&rows)[kRows], Target& target) {
  AG_RETURN_IF_ERROR(object.CheckObject());
  for (const std::string& key : object.Keys()) {
    const Key<Target>* row = nullptr;
    for (const Key<Target>& candidate : rows) {
      if (candidate.name == key) row = &candidate;
    }
    if (row == nullptr) {
      std::vector<std::string_view> known;
      for (const Key<Target>& candidate : rows) known.push_back(candidate.name);
      return object.UnknownKey(key, known);
    }
    AG_RETURN_IF_ERROR(row->read(object.Member(key), target));
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
