#include "api/http/content_coding.h"

#include "base/letter_case.h"
#include "base/text.h"

namespace agent_graph::api {
namespace {

// True for "q=0", "q=0.0" and so on.
bool IsZeroWeight(std::string_view parameter) {
  if (parameter.size() < 3 || LowerCase(parameter[0]) != 'q' || parameter[1] != '=') return false;
  return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

}  // namespace

bool AcceptsGzip(std::string_view accept_encoding) {
  bool any = false;
  while (!accept_encoding.empty()) {
    const size_t comma = accept_encoding.find(',');
    const std::string_view one = accept_encoding.substr(0, comma);
    const size_t semicolon = one.find(';');
    const std::string_view coding = Trim(one.substr(0, semicolon));
    const bool refused =
        semicolon != std::string_view::npos && IsZeroWeight(Trim(one.substr(semicolon + 1)));
    if (EqualsIgnoringCase(coding, "gzip")) return !refused;
    if (coding == "*") any = !refused;
    if (comma == std::string_view::npos) break;
    accept_encoding.remove_prefix(comma + 1);
  }
  return any;
}

}  // namespace agent_graph::api
