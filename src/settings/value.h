// A value of service.json together with its path: typed reading, and errors that name the key. It
// refers to the document and the environment, which must outlive it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "base/status.h"
#include "settings/settings.h"
#include "settings/shape.h"

namespace agent_graph::settings {

// A text that a key may have, and the value that it stands for.
template <typename T>
struct Choice {
  std::string_view name;
  T value;
};

// Refers to the document and the environment, which must outlive it. Every function that returns a
// Status fails with an error that names the key. With a `shape`, the value is a sample: the
// functions note in the shape how it is read.
class Value {
 public:
  Value(const json& node, std::string path, const Environment& environment, Shape* shape = nullptr)
      : node_(node), path_(std::move(path)), environment_(environment), shape_(shape) {}

  const json& node() const { return node_; }
  const std::string& path() const { return path_; }
  const Environment& environment() const { return environment_; }
  Shape* shape() const { return shape_; }

  bool IsNull() const;
  bool IsString() const;
  Value Member(const std::string& key) const;  // `node` must be an object that has the key
  std::vector<std::string> Keys() const;       // keys of an object, in order; empty for other types
  Result<std::vector<Value>> Elements() const;  // elements of an array
  // The same text or array under the path of one of its elements, for an error about that element.
  Value Element(size_t index) const;

  // Returns the error "models.default.api_key: <reason>". Reasons quote the text as written, never
  // expanded. Paths and names of nodes are the exception: they appear as the service looks them up.
  Status Error(const std::string& reason) const;
  // Returns the error "…: unknown key; did you mean …?".
  Status UnknownKey(std::string_view key, std::span<const std::string_view> known) const;

  Status ReadString(std::string& out) const;  // expands ${NAME}
  // Reads an http or https URL and removes a trailing slash.
  Status ReadBaseUrl(std::string& out) const;
  // Reads text without blanks and control characters, such as a key. Errors never quote it.
  Status ReadSecret(std::string& out) const;
  Status ReadBoolean(bool& out) const;
  Status ReadInteger(int64_t minimum, int64_t maximum, int64_t& out) const;
  Status ReadNumber(double minimum, double maximum, double& out) const;
  Status ReadStrings(std::vector<std::string>& out) const;  // an array, or text separated by commas
  Status ReadHeaders(std::map<std::string, std::string>& out) const;
  Status ReadObjectText(std::string& out) const;  // an object of any shape, as JSON text
  Status ReadExpanded(json& out) const;           // any value; expands ${NAME} in its texts
  // `keys` are those that the object may have, for the error; empty: names that the user chooses.
  Status CheckObject(std::span<const std::string_view> keys = {}) const;

  template <typename Integer>
  Status Read(int64_t minimum, int64_t maximum, Integer& out) const {
    int64_t value = 0;
    AG_RETURN_IF_ERROR(ReadInteger(minimum, maximum, value));
    out = static_cast<Integer>(value);
    return Status::Ok();
  }
  // For keys whose names do not show the unit.
  template <typename Integer>
  Status ReadSeconds(int64_t minimum, int64_t maximum, Integer& out) const {
    const Status status = Read(minimum, maximum, out);
    return status.ok() ? status : Status(status.code(), status.message() + " (seconds)");
  }

  // Sets `index` to the position of the text in `names`. Names in `unavailable` get an error of
  // their own: known elsewhere, but not supported by this build.
  Status ReadName(std::span<const std::string_view> names, size_t& index,
                  std::span<const std::string_view> unavailable = {}) const;
  // Sets `out` to the value of the choice that the text names.
  template <typename T, size_t kCount>
  Status ReadChoice(const Choice<T> (&choices)[kCount], T& out,
                    std::span<const std::string_view> unavailable = {}) const {
    std::array<std::string_view, kCount> names;
    for (size_t i = 0; i < kCount; ++i) names[i] = choices[i].name;
    size_t index = 0;
    AG_RETURN_IF_ERROR(ReadName(names, index, unavailable));
    out = choices[index].value;
    return Status::Ok();
  }

 private:
  Shape* ShapeOfElements() const;

  const json& node_;
  const std::string path_;
  const Environment& environment_;
  Shape* const shape_;
};

// A row of the schema: the name of a key, and the function that reads its value into `Target`.
template <typename Target>
struct Key {
  std::string_view name;
  Status (*read)(const Value& value, Target& target);
};

// Lets the reader of each row read samples, so that `shape` learns the keys of the object.
template <typename Target, size_t kRows>
void DescribeObject(const Value& object, const Key<Target> (&rows)[kRows], const Target& target) {
  Shape& shape = *object.shape();
  shape.ReadAsObject();
  if (shape.has_keys()) return;
  for (const Key<Target>& row : rows) {
    Shape& key = shape.Key(row.name);
    key.ReadSamples([&](const json& sample) {
      Target copy = target;  // a reader may refuse a second value
      const Value value(sample, std::string(row.name), object.environment(), &key);
      return row.read(value, copy).ok();
    });
  }
}

// Reads an object by its rows. A key without a row is an error.
template <typename Target, size_t kRows>
Status ReadObject(const Value& object, const Key<Target> (&rows)[kRows], Target& target) {
  std::vector<std::string_view> known;
  for (const Key<Target>& row : rows) known.push_back(row.name);
  AG_RETURN_IF_ERROR(object.CheckObject(known));
  if (object.shape() != nullptr) {
    DescribeObject(object, rows, target);
    return Status::Ok();
  }
  for (const std::string& key : object.Keys()) {
    const Key<Target>* row = nullptr;
    for (const Key<Target>& candidate : rows) {
      if (candidate.name == key) row = &candidate;
    }
    if (row == nullptr) return object.UnknownKey(key, known);
    AG_RETURN_IF_ERROR(row->read(object.Member(key), target));
  }
  return Status::Ok();
}

}  // namespace agent_graph::settings
