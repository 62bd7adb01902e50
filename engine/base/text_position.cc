#include "base/text_position.h"

#include <algorithm>

namespace agent_graph {

std::string LineAndColumn(std::string_view text, size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  const auto lines = std::ranges::count(before, '\n');
  const auto characters = std::ranges::count_if(before.substr(line_start), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // not a continuation byte
  });
  return std::to_string(lines + 1) + ":" + std::to_string(characters + 1);
}

std::string FileProblem(const std::string& file, const Status& status) {
  const std::string place = status.detail().empty() ? file : file + ":" + status.detail();
  return place + ": " + status.message();
}

}  // namespace agent_graph
