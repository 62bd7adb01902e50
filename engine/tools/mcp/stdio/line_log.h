// Logs text output of a program line by line, within limits.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace agent_graph::tools::mcp {

inline constexpr size_t kLogLineBytesMax = 500;
inline constexpr int kLogLinesMax = 20;  // per ten seconds; further lines are only counted

// Not thread-safe: used by one fiber.
class LineLog {
 public:
  using Write = std::function<void(const std::string& line)>;

  // `secrets` are replaced by "***".
  LineLog(std::vector<std::string> secrets, Write write)
      : secrets_(std::move(secrets)), write_(std::move(write)) {}

  void Feed(std::string_view bytes);
  void Line(std::string_view line);
  // The last line, to explain why a program ended.
  const std::string& last() const { return last_; }

 private:
  std::string Printable(std::string_view line) const;
  bool MayWrite();

  const std::vector<std::string> secrets_;
  const Write write_;
  std::string partial_;
  std::string last_;
  Deadline window_end_ = Deadline::min();
  int written_ = 0;
  int left_out_ = 0;
};

}  // namespace agent_graph::tools::mcp
