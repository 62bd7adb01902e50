#include "models/signature.h"

namespace agent_graph::models {
namespace {

constexpr char kMark = ':';  // does not occur in signatures, which are base64

}  // namespace

std::string MarkSignature(std::string_view owner, std::string_view signature) {
  std::string marked(owner);
  marked += kMark;
  marked += signature;
  return marked;
}

std::optional<std::string_view> SignatureOf(std::string_view owner, std::string_view marked) {
  if (marked.empty()) return std::nullopt;
  const size_t mark = marked.find(kMark);
  if (mark == std::string_view::npos) return marked;
  if (marked.substr(0, mark) != owner) return std::nullopt;
  return marked.substr(mark + 1);
}

}  // namespace agent_graph::models
