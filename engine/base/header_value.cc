#include "base/header_value.h"

#include <algorithm>

namespace agent_graph {

bool IsHeaderValue(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  });
}

}  // namespace agent_graph
