#include "base/json_weight.h"

namespace agent_graph {
namespace {

// The weight of a character outside of strings.
constexpr uint64_t WeightOf(char c) {
  switch (c) {
    case '"':
      return json_weight::kString;
    case ',':
      return json_weight::kElement;
    case ':':
      return json_weight::kMember;
    case '[':
    case '{':
      return json_weight::kContainer;
    default:
      return 0;
  }
}

}  // namespace

void JsonWeight::Add(std::string_view piece) {
  text_bytes_ += piece.size();
  const char* at = piece.data();
  const char* const end = at + piece.size();
  while (at != end) {
    if (in_string_ && !escaped_) {
      while (at != end && *at != '"' && *at != '\\') ++at;
      if (at == end) return;
    }
    const char c = *at++;
    if (escaped_) {
      escaped_ = false;
    } else if (in_string_) {
      escaped_ = c == '\\';
      in_string_ = c != '"';
    } else {
      in_string_ = c == '"';
      structure_ += WeightOf(c);
    }
  }
}

}  // namespace agent_graph
