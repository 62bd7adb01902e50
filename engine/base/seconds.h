// Formats wall-clock times as decimal seconds, much faster than formatting a double.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace agent_graph {

// The text of one time. The views are valid as long as the object.
class SecondsText {
 public:
  // `unix_micros`: microseconds since 1970, not negative.
  explicit SecondsText(int64_t unix_micros);

  // With six decimal places: "12.500000".
  std::string_view full() const { return {text_.data(), size_}; }
  // The shortest form, as a JSON writer formats the number: "12", "12.5".
  std::string_view shortest() const { return {text_.data(), shortest_}; }

 private:
  std::array<char, 32> text_;
  size_t size_ = 0;
  size_t shortest_ = 0;
};

}  // namespace agent_graph
