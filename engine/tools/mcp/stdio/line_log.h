// Logs text output of a program line by line, within limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kLogLineBytesMax = 500;
inline constexpr int kLogLinesMax = 20;  // per ten seconds; further lines are only counted

// Not thread-safe: used by one fiber.
class LineLog {
 public:
  using Write = std::function<void(const std::string& line)>;

  explicit LineLog(Write write) : write_(std::move(write)) {}

  void Feed(std::string_view bytes);
  void Line(std::string_view line);
  // The latest lines, to explain why a program ended.
  const std::string& last() const { return last_; }

 private:
  bool MayWrite();

  const Write write_;
  std::string partial_;
  std::string last_;
  Deadline window_end_ = Deadline::min();
  int written_ = 0;
  int left_out_ = 0;
};

}  // namespace agent_graph::tools::mcp
