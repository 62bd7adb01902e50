// Shape of a key of service.json: the values that its reader accepts. It is found by the reader
// itself, which reads a sample of every JSON type, so that the readers stay the only place that
// knows types, bounds and names.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent_graph/json_fwd.h"

namespace agent_graph::settings {

// A Value that has a shape notes here how it is read. Not thread-safe.
class Shape {
 public:
  // Calls `read` with a value of each JSON type, and with arrays and objects of one member of each
  // type, whose name is that of no key. It returns true if the reader has accepted the sample. A
  // sample that was accepted, but not read in one of the ways below, stands for all values of its
  // type.
  void ReadSamples(const std::function<bool(const json& sample)>& read);

  // A reader of a value calls one of these for each sample.
  void ReadAsText() { text_ = true; }
  void ReadAsBoolean() { boolean_ = true; }
  void ReadAsInteger(int64_t minimum, int64_t maximum) { integers_ = {minimum, maximum}; }
  void ReadAsChoice(std::span<const std::string_view> names);
  void ReadAsArray() { array_ = true; }
  void ReadAsObject() { object_ = true; }

  Shape& Elements();                  // the elements of an array
  Shape& Members();                   // the members of an object whose keys the user chooses
  Shape& Key(std::string_view name);  // a member of an object with fixed keys
  bool has_keys() const { return !keys_.empty(); }

  // Returns a JSON Schema. Where names are to choose from, it refers to "#/$defs/Variable" for text
  // with ${NAME} in it.
  json ToSchema() const;

 private:
  void Accept(const json& sample);
  json ArraySchema() const;
  json ObjectSchema() const;

  bool null_ = false;
  bool boolean_ = false;
  bool number_ = false;
  bool text_ = false;
  bool array_ = false;
  bool object_ = false;
  std::optional<std::pair<int64_t, int64_t>> integers_;
  std::vector<std::string> choices_;
  std::unique_ptr<Shape> elements_;
  std::unique_ptr<Shape> members_;
  std::vector<std::pair<std::string, std::unique_ptr<Shape>>> keys_;
};

}  // namespace agent_graph::settings
